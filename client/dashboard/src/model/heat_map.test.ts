import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { HistogramSchema } from '../gen/ddp/v1/metric_pb';
import { heatMap, quantileOf } from './heat_map';

const h = (step: number, min: number, max: number, counts: number[]) => create(HistogramSchema, { step: BigInt(step), min, max, counts: counts.map(BigInt) });

it('lays bins of different ranges on one grid and loses no value', () => {
  // Rows of width 1 over 0..4. Step 1: 2 bins of width 2; step 2: all values are 3.
  const map = heatMap([h(1, 0, 4, [4, 12]), h(2, 3, 3, [5, 0])], 4)!;
  expect([map.low, map.high, map.steps]).toEqual([0, 4, [1, 2]]);
  expect([...map.share]).toEqual([0.125, 0.125, 0.375, 0.375, 0, 0, 0, 1]);
});
it('gives equal values a range, and nothing for nothing', () => {
  const map = heatMap([h(1, 2, 2, [3])], 2)!;
  expect([map.low, map.high]).toEqual([1, 3]);
  expect(map.share[0]! + map.share[1]!).toBe(1);
  expect(heatMap([h(1, NaN, NaN, [1])], 2)).toBeUndefined();
});
it('finds quantiles inside of bins', () => {
  // 4 values evenly in 0..2, 12 in 2..4: the median is the 8th of 16, a third of the way through the second bin.
  const histogram = h(1, 0, 4, [4, 12]);
  expect([0, 0.25, 1].map((share) => quantileOf(histogram, share))).toEqual([0, 2, 4]);
  expect(quantileOf(histogram, 0.5)).toBeCloseTo(2 + 2 / 3, 12);
  expect(quantileOf(h(1, 3, 3, [5]), 0.5)).toBe(3);
  expect(quantileOf(h(1, 0, 0, [0]), 0.5)).toBeUndefined();
});
