import { expect, it } from 'vitest';
import { groupLine } from './groups';
import { emptyLine, type Line } from './line';

const line = (x: number[], mean: number[]): Line => ({ ...emptyLine(), x, mean });

it('is the mean and the range of interpolated lines, by hand', () => {
  // a: y = x on 0..300 with a point at each end; b: 10 everywhere, but only up to 150.
  const group = groupLine([line([0, 300], [0, 300]), line([0, 150], [10, 10])]);
  expect(group.x.length).toBe(301);
  expect([group.mean[100], group.min[100], group.max[100], group.count[100]]).toEqual([55, 10, 100, 2]);
  expect([group.mean[200], group.min[200], group.max[200], group.count[200]]).toEqual([200, 200, 200, 1]);
  expect(group.mean[300]).toBe(300);
});
it('leaves out what is not finite', () => {
  expect(groupLine([line([1, 2], [NaN, 4])]).mean).toEqual([4]);
  expect(groupLine([line([], [])]).x).toEqual([]);
});
