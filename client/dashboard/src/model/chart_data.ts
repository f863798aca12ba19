// From lines to what uPlot draws: one shared x column, and for each line the columns low, high, raw and smooth.
// uPlot knows null as a gap and undefined as "nothing here, draw on"; a NaN would make it lose the whole chart.
import { debiasedEma } from './ema';
import type { Line } from './line';

export type Column = (number | null | undefined)[];
export const COLUMNS_PER_LINE = 4;
export type ChartColumns = [x: number[], ...Column[]];

export interface DrawOptions {
  smoothing: number; // 0 to <1
  logX: boolean;
  logY: boolean;
}

export interface Mark {
  x: number;
  line: number; // index of the line
}

function drawable(value: number, log: boolean): number | null {
  return Number.isFinite(value) && !(log && value <= 0) ? value : null;
}

export function chartColumns(lines: readonly Line[], options: DrawOptions): ChartColumns {
  const kept = lines.map((line) => line.x.map((_, i) => i).filter((i) => !(options.logX && line.x[i]! <= 0)));
  // The common case needs no join.
  const one = lines.length === 1;
  const x = one ? kept[0]!.map((i) => lines[0]!.x[i]!) : [...new Set(kept.flatMap((k, l) => k.map((i) => lines[l]!.x[i]!)))].sort((a, b) => a - b);
  const place = one ? undefined : new Map(x.map((value, i) => [value, i]));
  const columns: ChartColumns = [x];
  lines.forEach((line, l) => {
    const smooth = debiasedEma(line.mean, options.smoothing);
    for (const source of [line.min, line.max, line.mean, smooth]) {
      const column: Column = new Array<undefined>(x.length).fill(undefined);
      kept[l]!.forEach((i, k) => (column[place?.get(line.x[i]!) ?? k] = drawable(source[i]!, options.logY)));
      columns.push(column);
    }
  });
  return columns;
}

// Where values that are no numbers were measured.
export function nonFiniteMarks(lines: readonly Line[]): Mark[] {
  return lines.flatMap((line, l) => line.x.flatMap((x, i) => (line.nonFinite[i]! > 0 ? [{ x, line: l }] : [])));
}

// The part of sorted values below which the share q lies, interpolated as numpy.quantile does.
export function quantile(sorted: readonly number[], q: number): number {
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low]! + (sorted[high]! - sorted[low]!) * (at - low);
}

// The y range of what is drawn; with `clip` that of the middle 90 %, so that one spike does not flatten all the rest.
// undefined: nothing is drawn.
export function yRange(columns: ChartColumns, clip: boolean, from: number, to: number): [number, number] | undefined {
  const x = columns[0];
  const values: number[] = [];
  for (let c = 1; c < columns.length; ++c) {
    const kind = (c - 1) % COLUMNS_PER_LINE;
    // Clipped: the raw means decide. Otherwise the band, which contains everything.
    if (clip ? kind !== 2 : kind > 1) continue;
    const column = columns[c] as Column;
    for (let i = 0; i < x.length; ++i) {
      const value = column[i];
      if (value !== null && value !== undefined && x[i]! >= from && x[i]! <= to) values.push(value);
    }
  }
  if (values.length === 0) return undefined;
  if (!clip) return values.reduce<[number, number]>(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  values.sort((a, b) => a - b);
  return [quantile(values, 0.05), quantile(values, 0.95)];
}

export function padded([low, high]: [number, number], log: boolean): [number, number] {
  if (log) return low === high ? [low / 2, high * 2] : [low / 1.1, high * 1.1];
  const pad = low === high ? Math.abs(low) * 0.1 || 1 : (high - low) * 0.05;
  return [low - pad, high + pad];
}
