import { expect, it } from 'vitest';
import { debiasedEma } from './ema';

it('is the weighted mean of what has been, by hand', () => {
  // d = 1/2: weights 1; 1,2 over 3; 1,2,4 over 7.
  expect(debiasedEma([8, 2, 4], 0.5)).toEqual([8, (8 + 2 * 2) / 3, (8 + 2 * 2 + 4 * 4) / 7]);
});
it('leaves a constant alone from the first value on', () => {
  for (const y of debiasedEma([3, 3, 3, 3], 0.9)) expect(y).toBeCloseTo(3, 12);
});
it('passes over what is not finite', () => {
  expect(debiasedEma([8, NaN, 2], 0.5)).toEqual([8, NaN, 4]);
});
it('changes nothing without smoothing', () => {
  expect(debiasedEma([1, 5, 2], 0)).toEqual([1, 5, 2]);
});
