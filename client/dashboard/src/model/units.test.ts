import { expect, it } from 'vitest';
import { formatTicks, formatValue, fromZero, incrementsOf, unitOf } from './units';

it('tells the unit by the name', () => {
  const names = ['rank/0/cpu_percent', 'rank/12/rss_bytes', 'gpu/0/power_watts', 'gpu/0/temperature_celsius', 'step_time/data', 'tokens_per_second', 'loss'];
  expect(names.map(unitOf)).toEqual(['percent', 'bytes', 'watts', 'celsius', 'seconds', 'rate', 'number']);
});
it('writes values in their units', () => {
  expect(formatValue(133 * 1024 * 1024, 'bytes')).toBe('133 MiB');
  expect(formatValue(1.5 * 1024 ** 3, 'bytes')).toBe('1.5 GiB');
  expect(formatValue(512, 'bytes')).toBe('512 B');
  expect(formatValue(0.00125, 'seconds')).toBe('1.25 ms');
  expect(formatValue(2, 'seconds')).toBe('2 s');
  expect(formatValue(3.5e-6, 'seconds')).toBe('3.5 µs');
  expect(formatValue(4e-9, 'seconds')).toBe('0.004 µs');
  expect(formatValue(0, 'seconds')).toBe('0 s');
  expect(formatValue(97.5, 'percent')).toBe('97.5 %');
  expect(formatValue(97.46, 'percent')).toBe('97.5 %');
  expect(formatValue(97.46, 'number')).toBe('97.46');
  expect(formatValue(NaN, 'watts')).toBe('NaN');
  expect(formatValue(undefined, 'watts')).toBe('–');
  expect(formatValue(0.5, 'number')).toBe('0.5');
});
it('writes one axis in one scale', () => {
  expect(formatTicks([0, 2 ** 29, 2 ** 30, null], 'bytes')).toEqual(['0', '0.5 GiB', '1 GiB', '']);
  expect(formatTicks([0.0005, 0.001, 0.0015], 'seconds')).toEqual(['0.5 ms', '1 ms', '1.5 ms']);
});
it('puts labels of bytes at powers of two', () => {
  expect(incrementsOf('bytes')!.slice(0, 4)).toEqual([1, 2, 4, 8]);
  expect(incrementsOf('seconds')).toBeUndefined();
});
it('begins at zero where values are shares of something', () => {
  expect((['percent', 'bytes', 'seconds', 'watts', 'celsius', 'rate', 'number'] as const).filter(fromZero)).toEqual(['percent', 'bytes', 'seconds', 'watts']);
});
