// How charts are drawn: one choice for the whole dashboard, kept over visits.
import { XAxis } from '../gen/ddp/v1/metric_pb';
import { browserStorage } from '../api/token';
import { Store } from '../model/store';
import type { ChartOptions } from './plot';

const KEY = 'ddpd.charts';
const DEFAULTS: ChartOptions = { axis: XAxis.STEP, smoothing: 0.6, logX: false, logY: false, clip: false };

function read(): ChartOptions {
  try {
    return { ...DEFAULTS, ...JSON.parse(browserStorage()?.getItem(KEY) ?? '{}') };
  } catch {
    return DEFAULTS;
  }
}

export const chartOptions = new Store<ChartOptions>(DEFAULTS);
let loaded = false;

export function loadChartOptions(): Store<ChartOptions> {
  if (!loaded) chartOptions.set(read());
  loaded = true;
  return chartOptions;
}

export function changeChartOptions(change: Partial<ChartOptions>): void {
  chartOptions.set({ ...chartOptions.value, ...change });
  browserStorage()?.setItem(KEY, JSON.stringify(chartOptions.value));
}
