// Histograms over steps as a grid: each has bins of its own range, and the grid one for all.
import type { Histogram } from '../gen/ddp/v1/metric_pb';

export interface HeatMap {
  steps: number[];
  low: number;
  high: number;
  rows: number;
  share: Float64Array; // by step, then row from low to high: the part of all values that lies in the cell
}

export function heatMap(histograms: readonly Histogram[], rows: number): HeatMap | undefined {
  const used = histograms.filter((h) => h.counts.length > 0 && Number.isFinite(h.min) && Number.isFinite(h.max));
  if (used.length === 0) return undefined;
  let low = Math.min(...used.map((h) => h.min));
  let high = Math.max(...used.map((h) => h.max));
  if (low === high) [low, high] = [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  const share = new Float64Array(used.length * rows);
  const rowOf = (value: number) => ((value - low) / (high - low)) * rows;
  used.forEach((h, s) => {
    const total = h.counts.reduce((sum, c) => sum + Number(c), 0);
    if (total === 0) return;
    const width = (h.max - h.min) / h.counts.length;
    h.counts.forEach((count, b) => {
      if (count === 0n) return;
      const [from, to] = [rowOf(h.min + b * width), rowOf(h.min + (b + 1) * width)];
      // A bin is spread evenly over the rows that it covers.
      for (let row = Math.min(rows - 1, Math.floor(from)); row < rows && row <= to; ++row) {
        const part = to > from ? (Math.min(to, row + 1) - Math.max(from, row)) / (to - from) : 1;
        if (part > 0) share[s * rows + row]! += (part * Number(count)) / total;
        if (to === from) break;
      }
    });
  });
  return { steps: used.map((h) => Number(h.step)), low, high, rows, share };
}

// The value below which `share` of the finite values lie, taking those of a bin to lie evenly in it; undefined: there are none.
export function quantileOf(histogram: Histogram, share: number): number | undefined {
  const { counts, min, max } = histogram;
  const total = counts.reduce((sum, count) => sum + Number(count), 0);
  if (total === 0) return undefined;
  const width = (max - min) / counts.length;
  let left = share * total;
  for (let bin = 0; bin < counts.length; ++bin) {
    const count = Number(counts[bin]);
    if (count > 0 && left <= count) return min + width * (bin + left / count);
    left -= count;
  }
  return max;
}
