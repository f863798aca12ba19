import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { BucketColumnSchema, MetricColumnSchema, XAxis } from '../gen/ddp/v1/metric_pb';
import { appendPoints, cutAfter, emptyLine, lineOfBuckets, stacked, xOf } from './line';

const steps = { axis: XAxis.STEP, stepsPerEpoch: 0, origin: 0 };
function points(step: number[], value: number[]) {
  return create(MetricColumnSchema, { series: 's', step: step.map(BigInt), time: step.map((s) => 1000 + s), value });
}

describe('Line', () => {
  it('takes buckets as they are', () => {
    const line = lineOfBuckets(
      create(BucketColumnSchema, {
        buckets: [{ firstStep: 1n, lastStep: 3n, firstX: 0.5, lastX: 1.5, min: -1, max: 4, mean: 2, last: 3, first: 4, count: 3n, nonFinite: 1n }],
      }),
    );
    expect(line).toEqual({ x: [1], firstStep: [1], lastStep: [3], min: [-1], max: [4], mean: [2], last: [3], count: [3], nonFinite: [1] });
  });

  it('appends live points, keeps what is not finite apart, and leaves out what is not in range', () => {
    const line = emptyLine();
    appendPoints(line, points([1, 2, 3, 4], [5, NaN, Infinity, 7]), steps, 2, 3);
    expect(line.x).toEqual([2, 3]);
    expect(line.last).toEqual([NaN, Infinity]);
    expect(line.min).toEqual([NaN, NaN]);
    expect(line.nonFinite).toEqual([1, 1]);
  });

  it('lays points along every axis', () => {
    const facts = { axis: XAxis.EPOCH, stepsPerEpoch: 8, origin: 1000 };
    expect(xOf(facts, 12, 1030)).toBe(1.5);
    expect(xOf({ ...facts, axis: XAxis.WALL_TIME }, 12, 1030)).toBe(1030);
    expect(xOf({ ...facts, axis: XAxis.RELATIVE_TIME }, 12, 1030)).toBe(30);
    expect(xOf({ ...facts, axis: XAxis.UNSPECIFIED }, 12, 1030)).toBe(12);
  });

  it('cuts what a later attempt supersedes and says when a bucket straddles the cut', () => {
    const line = emptyLine();
    appendPoints(line, points([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]), steps);
    expect(cutAfter(line, 3)).toBe(false);
    expect(line.x).toEqual([1, 2, 3]);
    expect(line.count).toEqual([1, 1, 1]);
    line.lastStep[2] = 9;
    expect(cutAfter(line, 5)).toBe(true);
    expect(cutAfter(line, 0)).toBe(false);
    expect(line.x).toEqual([]);
  });

  it('lays parts on each other when they were measured together', () => {
    const [a, b, c] = [emptyLine(), emptyLine(), emptyLine()];
    appendPoints(a, points([1, 2], [1, 2]), steps);
    appendPoints(b, points([1, 2], [10, 20]), steps);
    appendPoints(c, points([1, 3], [1, 1]), steps);
    expect(stacked([a, b])!.map((line) => line.mean)).toEqual([[1, 2], [11, 22]]);
    expect(b.mean).toEqual([10, 20]); // the table still says what each part is
    expect(stacked([a, c])).toBeUndefined();
    expect(stacked([])).toBeUndefined();
  });
});
