// The buckets of a chart as rows of a table, for those who do not see the chart: the newest first.
import { XAxis } from '../gen/ddp/v1/metric_pb';
import { formatCount, formatDuration, formatFullTime, formatNumber } from './format';
import type { Line } from './line';
import { formatValue, type Unit } from './units';

export interface BucketRow {
  key: string;
  place: string; // on the x-axis
  line: string;
  mean: string;
  least: string;
  greatest: string;
  points: string;
}

export interface NamedLine {
  name: string;
  line: Line;
}

export function axisName(axis: XAxis): string {
  return { [XAxis.UNSPECIFIED]: 'Step', [XAxis.STEP]: 'Step', [XAxis.EPOCH]: 'Epoch', [XAxis.WALL_TIME]: 'Time', [XAxis.RELATIVE_TIME]: 'After' }[axis];
}

function placeOf(line: Line, i: number, axis: XAxis): string {
  const x = line.x[i]!;
  if (axis === XAxis.EPOCH) return formatNumber(x);
  if (axis === XAxis.WALL_TIME) return formatFullTime(x * 1000);
  if (axis === XAxis.RELATIVE_TIME) return formatDuration(x);
  const [first, last] = [line.firstStep[i]!, line.lastStep[i]!];
  return first === last ? formatCount(first) : `${formatCount(first)}–${formatCount(last)}`;
}

// At most `most` rows; a bucket without a finite value says what it has instead.
export function bucketRows(lines: readonly NamedLine[], axis: XAxis, unit: Unit, most: number): BucketRow[] {
  const places = lines.flatMap(({ line }, l) => line.x.map((x, i) => ({ x, l, i })));
  places.sort((a, b) => b.x - a.x || a.l - b.l);
  return places.slice(0, most).map(({ l, i }) => {
    const { name, line } = lines[l]!;
    const bad = line.nonFinite[i]!;
    const value = (v: number) => (bad > 0 && bad === line.count[i] ? formatNumber(line.last[i]) : formatValue(v, unit));
    return {
      key: `${name} ${line.x[i]}`,
      place: placeOf(line, i, axis),
      line: name,
      mean: value(line.mean[i]!),
      least: value(line.min[i]!),
      greatest: value(line.max[i]!),
      points: formatCount(line.count[i]!) + (bad > 0 ? ` (${formatCount(bad)} not finite)` : ''),
    };
  });
}
