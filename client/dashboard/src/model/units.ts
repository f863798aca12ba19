// What the values of a series are measured in, told by its name, and how people read them.
import { formatNumber } from './format';

export type Unit = 'number' | 'percent' | 'bytes' | 'seconds' | 'watts' | 'celsius' | 'rate';

const ENDINGS: [ending: RegExp, unit: Unit][] = [
  [/_percent$/, 'percent'],
  [/_bytes$/, 'bytes'],
  [/(_seconds$|^step_time\/)/, 'seconds'],
  [/_watts$/, 'watts'],
  [/_celsius$/, 'celsius'],
  [/_per_second$/, 'rate'],
];

export function unitOf(series: string): Unit {
  return ENDINGS.find(([ending]) => ending.test(series))?.[1] ?? 'number';
}

const BYTES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
const SECONDS: [scale: number, name: string][] = [
  [1, 's'],
  [1e-3, 'ms'],
  [1e-6, 'µs'],
];

// The scale in which `largest`, and everything below it on the same axis, is written.
function scaleOf(unit: Unit, largest: number): [scale: number, name: string] {
  const size = Math.abs(largest);
  switch (unit) {
    case 'bytes': {
      const power = size < 1024 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log2(size) / 10));
      return [1024 ** power, ` ${BYTES[power]}`];
    }
    case 'seconds': {
      const [scale, name] = SECONDS.find(([s]) => size >= s) ?? (size === 0 ? SECONDS[0]! : SECONDS.at(-1)!);
      return [scale, ` ${name}`];
    }
    case 'percent':
      return [1, ' %'];
    case 'watts':
      return [1, ' W'];
    case 'celsius':
      return [1, ' °C'];
    case 'rate':
      return [1, ' /s'];
    default:
      return [1, ''];
  }
}

export function formatValue(value: number | undefined, unit: Unit): string {
  if (value === undefined || !Number.isFinite(value)) return formatNumber(value);
  const [scale, name] = scaleOf(unit, value);
  // Nobody measures a machine to four digits.
  const digits = unit === 'number' || unit === 'rate' ? value / scale : Number((value / scale).toPrecision(3));
  return formatNumber(digits) + name;
}

// The labels of an axis, all in one scale: that of the largest.
export function formatTicks(ticks: readonly (number | null)[], unit: Unit): string[] {
  const [scale, name] = scaleOf(unit, Math.max(0, ...ticks.map((v) => Math.abs(v ?? 0))));
  return ticks.map((v) => (v === null ? '' : v === 0 ? '0' : formatNumber(v / scale) + name));
}

// Distances between labels that are round in the unit: bytes go by powers of two, everything else is left to the chart.
export function incrementsOf(unit: Unit): number[] | undefined {
  return unit === 'bytes' ? Array.from({ length: 50 }, (_, power) => 2 ** power) : undefined;
}

// How full, how busy, how long: only from zero on are such values seen as shares of each other.
export function fromZero(unit: Unit): boolean {
  return unit !== 'number' && unit !== 'celsius' && unit !== 'rate';
}
