import type { ComponentChildren } from 'preact';
import { XAxis } from '../gen/ddp/v1/metric_pb';
import { changeChartOptions } from './use_options';
import type { ChartOptions, Range } from './plot';

const AXES: [XAxis, string][] = [
  [XAxis.STEP, 'Step'],
  [XAxis.EPOCH, 'Epoch'],
  [XAxis.WALL_TIME, 'Wall time'],
  [XAxis.RELATIVE_TIME, 'Relative'],
];

export function ChartControls(props: {
  options: ChartOptions;
  range: Range | undefined;
  setRange: (range: Range | undefined) => void;
  filter: string;
  setFilter: (filter: string) => void;
  children?: ComponentChildren;
}) {
  const { options, range, setRange } = props;
  const toggle = (key: 'logX' | 'logY' | 'clip', text: string, title: string) => (
    <button class="chip" aria-pressed={options[key]} title={title} onClick={() => changeChartOptions({ [key]: !options[key] })}>
      {text}
    </button>
  );
  return (
    <div class="controls">
      <input
        type="search"
        data-filter
        aria-label="Filter metrics by name"
        placeholder="Filter metrics…"
        value={props.filter}
        onInput={(e) => props.setFilter(e.currentTarget.value)}
      />
      <label>
        <span>X axis</span>
        <select
          value={options.axis}
          onChange={(e) => {
            setRange(undefined);
            changeChartOptions({ axis: Number(e.currentTarget.value) });
          }}
        >
          {AXES.map(([axis, name]) => (
            <option key={axis} value={axis}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>Smoothing</span>
        <input
          type="range"
          min="0"
          max="0.99"
          step="0.01"
          value={options.smoothing}
          onInput={(e) => changeChartOptions({ smoothing: Number(e.currentTarget.value) })}
        />
        <output>{options.smoothing.toFixed(2)}</output>
      </label>
      {toggle('logY', 'Log y', 'Logarithmic y-axis')}
      {toggle('logX', 'Log x', 'Logarithmic x-axis')}
      {toggle('clip', 'Clip outliers', 'The y-axis spans the 5th to the 95th percentile')}
      {props.children}
      {range && (
        <button class="small" onClick={() => setRange(undefined)}>
          Reset zoom
        </button>
      )}
    </div>
  );
}
