// Lines of several jobs as their mean and range: along a common grid of x, by linear interpolation inside each line.
import { emptyLine, type Line } from './line';

const GRID = 300;

export function groupLine(lines: readonly Line[]): Line {
  const group = emptyLine();
  const drawn = lines.map((line) => line.x.flatMap((x, i) => (Number.isFinite(line.mean[i]) ? [[x, line.mean[i]!] as const] : [])));
  const full = drawn.filter((points) => points.length > 0);
  if (full.length === 0) return group;
  const low = Math.min(...full.map((points) => points[0]![0]));
  const high = Math.max(...full.map((points) => points.at(-1)![0]));
  const count = low === high ? 1 : GRID + 1;
  for (let g = 0; g < count; ++g) {
    const x = count === 1 ? low : low + ((high - low) * g) / GRID;
    const values = full.flatMap((points) => {
      const value = at(points, x);
      return value === undefined ? [] : [value];
    });
    if (values.length === 0) continue;
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    group.x.push(x);
    group.firstStep.push(Math.round(x));
    group.lastStep.push(Math.round(x));
    group.min.push(Math.min(...values));
    group.max.push(Math.max(...values));
    group.mean.push(mean);
    group.last.push(mean);
    group.count.push(values.length);
    group.nonFinite.push(0);
  }
  return group;
}

function at(points: readonly (readonly [number, number])[], x: number): number | undefined {
  // Beyond its own ends a job says nothing. Rounding must not lose the last point of the grid.
  const slack = 1e-9 * Math.max(1, Math.abs(x));
  if (x < points[0]![0] - slack || x > points.at(-1)![0] + slack) return undefined;
  let high = points.findIndex(([px]) => px >= x);
  if (high < 0) high = points.length - 1;
  const low = Math.max(0, high - 1);
  const [[x0, y0], [x1, y1]] = [points[low]!, points[high]!];
  return x1 === x0 ? y1 : y0 + ((y1 - y0) * (Math.min(x, x1) - x0)) / (x1 - x0);
}
