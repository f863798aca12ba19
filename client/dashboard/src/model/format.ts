// Numbers and times for people. Times are shown in the viewer's zone.
import { timestampMs, type Timestamp } from '@bufbuild/protobuf/wkt';

// Four significant digits, the way a table wants them.
export function formatNumber(value: number | undefined): string {
  if (value === undefined) return '–';
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace(/\.?0+e/, 'e').replace('e+', 'e');
  if (size >= 1000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(4)));
}

export function formatCount(value: number | bigint): string {
  return value.toLocaleString('en-US');
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  while (bytes >= 1000 && unit < units.length - 1) {
    bytes /= 1000;
    ++unit;
  }
  return `${unit === 0 ? bytes : bytes.toPrecision(3)} ${units[unit]}`;
}

// "4 s", "3 min 20 s", "2 h 05 min", "3 d 4 h".
export function formatDuration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${String(s % 60).padStart(2, '0')} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${String(Math.floor((s % 3600) / 60)).padStart(2, '0')} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

export function milliseconds(time: Timestamp | undefined): number | undefined {
  return time === undefined ? undefined : timestampMs(time);
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: '2-digit', month: 'short' });
const full = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });

export function formatClock(ms: number): string {
  return clock.format(ms);
}
export function formatTime(ms: number | undefined): string {
  return ms === undefined ? '–' : `${day.format(ms)} ${clock.format(ms)}`;
}
export function formatFullTime(ms: number): string {
  return full.format(ms);
}
