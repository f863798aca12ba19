// The lines of `ddpctl metrics --csv`, without the column attempt: attempts are merged here.
import type { MetricColumn } from '../gen/ddp/v1/metric_pb';

function number(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  return String(value);
}

function field(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function metricsCsv(columns: readonly MetricColumn[]): string {
  const rows = ['series,step,time,value'];
  for (const c of columns) {
    for (let i = 0; i < c.step.length; ++i) rows.push(`${field(c.series)},${c.step[i]},${c.time[i]!.toFixed(6)},${number(c.value[i]!)}`);
  }
  return rows.join('\n') + '\n';
}
