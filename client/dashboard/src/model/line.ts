// One series as a chart holds it: columns of buckets along an x-axis, those of the daemon's answer first, then live points,
// each a bucket of its own. Values stay as they are; what cannot be drawn is sorted out where it is drawn.
import { XAxis, type BucketColumn, type MetricColumn } from '../gen/ddp/v1/metric_pb';

export interface Line {
  x: number[]; // the middle of the bucket
  firstStep: number[];
  lastStep: number[];
  min: number[]; // NaN: no finite value
  max: number[];
  mean: number[];
  last: number[];
  count: number[];
  nonFinite: number[];
}

export function emptyLine(): Line {
  return { x: [], firstStep: [], lastStep: [], min: [], max: [], mean: [], last: [], count: [], nonFinite: [] };
}

export function lineOfBuckets(column: BucketColumn): Line {
  const line = emptyLine();
  for (const b of column.buckets) {
    line.x.push((b.firstX + b.lastX) / 2);
    line.firstStep.push(Number(b.firstStep));
    line.lastStep.push(Number(b.lastStep));
    line.min.push(b.min);
    line.max.push(b.max);
    line.mean.push(b.mean);
    line.last.push(b.last);
    line.count.push(Number(b.count));
    line.nonFinite.push(Number(b.nonFinite));
  }
  return line;
}

// What live points need to be laid along an axis.
export interface AxisFacts {
  axis: XAxis;
  stepsPerEpoch: number; // of X_AXIS_EPOCH
  origin: number; // of X_AXIS_RELATIVE_TIME: the time of the job's first point
}

export function xOf(facts: AxisFacts, step: number, time: number): number {
  if (facts.axis === XAxis.EPOCH) return step / facts.stepsPerEpoch;
  if (facts.axis === XAxis.WALL_TIME) return time;
  if (facts.axis === XAxis.RELATIVE_TIME) return time - facts.origin;
  return step;
}

// Appends points of a live batch that lie inside the range.
export function appendPoints(line: Line, column: MetricColumn, facts: AxisFacts, from?: number, to?: number): void {
  for (let i = 0; i < column.step.length; ++i) {
    const step = Number(column.step[i]);
    const value = column.value[i]!;
    const x = xOf(facts, step, column.time[i]!);
    if ((from !== undefined && x < from) || (to !== undefined && x > to)) continue;
    const finite = Number.isFinite(value);
    line.x.push(x);
    line.firstStep.push(step);
    line.lastStep.push(step);
    line.min.push(finite ? value : NaN);
    line.max.push(finite ? value : NaN);
    line.mean.push(finite ? value : NaN);
    line.last.push(value);
    line.count.push(1);
    line.nonFinite.push(finite ? 0 : 1);
  }
}

// Takes away what an attempt that goes on from `step` supersedes. True when a bucket holds steps of both sides, so that only
// the daemon can tell what is left of it.
export function cutAfter(line: Line, step: number): boolean {
  let keep = line.x.length;
  while (keep > 0 && line.firstStep[keep - 1]! > step) --keep;
  for (const column of Object.values(line) as number[][]) column.length = keep;
  return keep > 0 && line.lastStep[keep - 1]! > step;
}

// Lines of parts as sums of the parts so far, so that the last is the whole. Parts that were not measured together cannot be
// added: then undefined.
export function stacked(lines: readonly Line[]): Line[] | undefined {
  const [first] = lines;
  if (!first || lines.some((line) => line.x.length !== first.x.length || line.x.some((x, i) => x !== first.x[i]))) return undefined;
  const sum = first.x.map(() => 0);
  return lines.map((line) => {
    line.mean.forEach((value, i) => (sum[i]! += value));
    return { ...line, min: [...sum], max: [...sum], mean: [...sum] };
  });
}
