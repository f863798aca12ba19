// Files made in the browser.
import type { PlotHost } from './plot';
import { cssColour } from '../ui/theme';

export function saveBlob(name: string, blob: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\w.@=-]+/g, '_');
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// The chart as it is seen, with its title.
export function savePicture(name: string, title: string, host: PlotHost): void {
  const source = host.plot?.ctx.canvas;
  if (!source) return;
  const ratio = window.devicePixelRatio || 1;
  const top = 26 * ratio;
  const canvas = document.createElement('canvas');
  canvas.width = source.width;
  canvas.height = source.height + top;
  const context = canvas.getContext('2d')!;
  context.fillStyle = cssColour('--card');
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = cssColour('--text');
  context.font = `600 ${13 * ratio}px system-ui, sans-serif`;
  context.fillText(title, 12 * ratio, 18 * ratio);
  context.drawImage(source, 0, top);
  canvas.toBlob((blob) => blob && saveBlob(name, blob));
}
