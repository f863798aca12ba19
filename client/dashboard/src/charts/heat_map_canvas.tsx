import { useEffect, useRef, useState } from 'preact/hooks';
import { formatCount, formatNumber } from '../model/format';
import type { HeatMap } from '../model/heat_map';
import { cssColour, palette } from '../ui/theme';
import { useStore } from '../ui/use_store';

// One pixel per cell, stretched by CSS; the share is shown by its square root, so that thin tails are seen.
export function HeatMapCanvas({ map, label }: { map: HeatMap; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState<string>('');
  const colours = useStore(palette);
  useEffect(() => {
    const context = canvas.current!.getContext('2d')!;
    const columns = map.steps.length;
    context.canvas.width = columns;
    context.canvas.height = map.rows;
    const accent = rgb(cssColour('--accent'));
    const image = context.createImageData(columns, map.rows);
    const top = map.share.reduce((a, b) => Math.max(a, b), 0) || 1;
    for (let s = 0; s < columns; ++s) {
      for (let row = 0; row < map.rows; ++row) {
        const pixel = ((map.rows - 1 - row) * columns + s) * 4;
        image.data.set([...accent, Math.round(255 * Math.sqrt(map.share[s * map.rows + row]! / top))], pixel);
      }
    }
    context.putImageData(image, 0, 0);
  }, [map, colours]);

  const moved = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const s = Math.min(map.steps.length - 1, Math.floor(((event.clientX - box.left) / box.width) * map.steps.length));
    const row = Math.min(map.rows - 1, Math.floor((1 - (event.clientY - box.top) / box.height) * map.rows));
    if (s < 0 || row < 0) return;
    const width = (map.high - map.low) / map.rows;
    const from = map.low + row * width;
    const part = (100 * map.share[s * map.rows + row]!).toPrecision(3);
    setAt(`step ${formatCount(map.steps[s]!)}: ${formatNumber(from)} … ${formatNumber(from + width)}: ${part} %`);
  };
  return (
    <>
      <div class="readout muted">{at || `steps ${formatCount(map.steps[0]!)} – ${formatCount(map.steps.at(-1)!)}`}</div>
      <div class="heat">
        <div class="heat-axis muted">
          <span>{formatNumber(map.high)}</span>
          <span>{formatNumber(map.low)}</span>
        </div>
        <canvas ref={canvas} role="img" aria-label={label} onMouseMove={moved} onMouseLeave={() => setAt('')} />
      </div>
    </>
  );
}

function rgb(hex: string): [number, number, number] {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}
