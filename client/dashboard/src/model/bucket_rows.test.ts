import { expect, it } from 'vitest';
import { XAxis } from '../gen/ddp/v1/metric_pb';
import { bucketRows } from './bucket_rows';
import type { Line } from './line';

// Two buckets: steps 1 to 1500 with values from 1 to 3, and step 1501 with a NaN.
const loss: Line = {
  x: [750.5, 1501],
  firstStep: [1, 1501],
  lastStep: [1500, 1501],
  min: [1, NaN],
  max: [3, NaN],
  mean: [2, NaN],
  last: [1, NaN],
  count: [1500, 1],
  nonFinite: [0, 1],
};
const other: Line = { x: [750.5], firstStep: [1], lastStep: [1500], min: [0], max: [0], mean: [0], last: [0], count: [1500], nonFinite: [2] };

it('lists the buckets of all lines, the newest first', () => {
  const rows = bucketRows([{ name: 'loss', line: loss }, { name: 'zero', line: other }], XAxis.STEP, 'number', 10);
  expect(rows.map(({ key: _, ...cells }) => Object.values(cells))).toEqual([
    ['1,501', 'loss', 'NaN', 'NaN', 'NaN', '1 (1 not finite)'],
    ['1–1,500', 'loss', '2', '1', '3', '1,500'],
    ['1–1,500', 'zero', '0', '0', '0', '1,500 (2 not finite)'],
  ]);
});
it('keeps to its length and writes units', () => {
  const rows = bucketRows([{ name: 'rank 0', line: loss }], XAxis.RELATIVE_TIME, 'percent', 1);
  expect(rows.map((row) => row.place)).toEqual(['25 min 01 s']);
  expect(bucketRows([{ name: 'rank 0', line: other }], XAxis.EPOCH, 'percent', 9)[0]).toMatchObject({ place: '750.5', mean: '0 %' });
});
