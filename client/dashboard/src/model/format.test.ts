import { describe, expect, it } from 'vitest';
import { formatBytes, formatDuration, formatNumber } from './format';

describe('format', () => {
  it.each([
    [0, '0'],
    [0.12345678, '0.1235'],
    [-2.5, '-2.5'],
    [123456.7, '123,457'],
    [0.000123456, '1.23e-4'],
    [2.5e9, '2.5e9'],
    [1e-12, '1e-12'],
    [1e30, '1e30'],
    [NaN, 'NaN'],
    [-Infinity, '−∞'],
    [undefined, '–'],
  ])('number %s', (value, text) => expect(formatNumber(value)).toBe(text));
  it.each([
    [4.4, '4 s'],
    [200, '3 min 20 s'],
    [7500, '2 h 05 min'],
    [86400 * 3 + 3600 * 4, '3 d 4 h'],
    [-3, '0 s'],
  ])('duration %s', (value, text) => expect(formatDuration(value)).toBe(text));
  it.each([
    [999, '999 B'],
    [1234, '1.23 kB'],
    [45_600_000, '45.6 MB'],
  ])('bytes %s', (value, text) => expect(formatBytes(value)).toBe(text));
});
