import { describe, expect, it } from 'vitest';
import { chartColumns, nonFiniteMarks, padded, quantile, yRange } from './chart_data';
import { emptyLine, type Line } from './line';

const plain = { smoothing: 0, logX: false, logY: false };
function line(x: number[], mean: number[]): Line {
  const finite = mean.map((v) => (Number.isFinite(v) ? v : NaN));
  return {
    ...emptyLine(),
    x,
    mean: finite,
    min: finite.map((v) => v - 1),
    max: finite.map((v) => v + 1),
    last: mean,
    nonFinite: mean.map((v) => (Number.isFinite(v) ? 0 : 1)),
  };
}

describe('chart columns', () => {
  it('never hands a NaN to the chart', () => {
    const columns = chartColumns([line([1, 2, 3], [5, NaN, 7])], { ...plain, smoothing: 0.5 });
    expect(columns[3]).toEqual([5, null, 7]);
    expect(columns[1]).toEqual([4, null, 6]);
    // smooth: 5, then (5 + 2*7) / 3
    expect(columns[4]).toEqual([5, null, 19 / 3]);
  });
  it('joins lines on one x column and leaves holes that are drawn over', () => {
    const columns = chartColumns([line([1, 3], [10, 30]), line([2, 3], [20, 33])], plain);
    expect(columns[0]).toEqual([1, 2, 3]);
    expect(columns[3]).toEqual([10, undefined, 30]);
    expect(columns[7]).toEqual([undefined, 20, 33]);
  });
  it('drops what a logarithm cannot show', () => {
    const columns = chartColumns([line([0, 1, 2], [1, 0.5, -3])], { smoothing: 0, logX: true, logY: true });
    expect(columns[0]).toEqual([1, 2]);
    expect(columns[3]).toEqual([0.5, null]);
  });
  it('finds what is not finite', () => {
    expect(nonFiniteMarks([line([1, 2], [1, 2]), line([4, 5], [Infinity, 1])])).toEqual([{ x: 4, line: 1 }]);
  });
});

describe('range', () => {
  // numpy.quantile(range(0, 101), [0.05, 0.95]) = [5, 95]; of [1, 2, 10] at 0.25: 1.5
  it('interpolates quantiles as numpy does', () => {
    expect(quantile([...Array(101).keys()], 0.05)).toBeCloseTo(5, 12);
    expect(quantile([1, 2, 10], 0.25)).toBe(1.5);
  });
  it('clips outliers, or shows everything in sight', () => {
    const x = [...Array(101).keys()];
    const columns = chartColumns([line(x, x.map((v) => (v === 50 ? 1e9 : v)))], plain);
    expect(yRange(columns, false, -Infinity, Infinity)).toEqual([-1, 1e9 + 1]);
    expect(yRange(columns, false, 0, 10)).toEqual([-1, 11]);
    const [low, high] = yRange(columns, true, -Infinity, Infinity)!;
    expect(low).toBeCloseTo(5, 9);
    expect(high).toBeCloseTo(96, 9); // 50 is missing among 0..100, so each of the upper ones moved down one place
    expect(yRange(columns, false, 200, 300)).toBeUndefined();
  });
  it('leaves room around', () => {
    expect(padded([0, 100], false)).toEqual([-5, 105]);
    expect(padded([3, 3], false)).toEqual([2.7, 3.3]);
    expect(padded([2, 2], true)).toEqual([1, 4]);
  });
});
