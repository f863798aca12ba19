// A small line without axes. Not finite: a gap.
import { useEffect, useRef } from 'preact/hooks';
import { cssColour, palette } from '../ui/theme';
import { useStore } from '../ui/use_store';

const WIDTH = 96;
const HEIGHT = 22;

export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const colours = useStore(palette);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    const ratio = window.devicePixelRatio || 1;
    context.canvas.width = WIDTH * ratio;
    context.canvas.height = HEIGHT * ratio;
    context.scale(ratio, ratio);
    const finite = values.filter(Number.isFinite);
    if (finite.length < 2) return;
    const low = Math.min(...finite);
    const span = Math.max(...finite) - low || 1;
    context.strokeStyle = cssColour('--accent');
    context.lineWidth = 1.25;
    context.lineJoin = 'round';
    context.beginPath();
    let pen = false;
    values.forEach((value, i) => {
      if (!Number.isFinite(value)) return (pen = false);
      const x = 1 + (i / (values.length - 1)) * (WIDTH - 2);
      const y = HEIGHT - 2 - ((value - low) / span) * (HEIGHT - 4);
      if (pen) context.lineTo(x, y);
      else context.moveTo(x, y);
      return (pen = true);
    });
    context.stroke();
  }, [values, colours]);
  return <canvas ref={canvas} class="sparkline" role="img" aria-label={label} />;
}
