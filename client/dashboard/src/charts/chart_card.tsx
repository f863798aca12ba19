// A card with one chart: its title, the values under the cursor, downloads. Mounted only near the viewport.
import { useMemo, useRef, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { XAxis } from '../gen/ddp/v1/metric_pb';
import type { NamedLine } from '../model/bucket_rows';
import { formatCount, formatDuration, formatNumber, formatTime } from '../model/format';
import type { Line } from '../model/line';
import { shortNames } from '../model/short_names';
import { formatValue, type Unit } from '../model/units';
import { notify } from '../ui/notices';
import { errorText } from '../api/errors';
import { ChartTable } from './chart_table';
import { saveBlob, savePicture } from './download';
import { Plot, type AxisMark, type ChartOptions, type PlotHost, type PlotLine, type Range } from './plot';

export interface CardProps {
  title: string;
  unit: Unit;
  stacked: boolean;
  names: ReadonlyMap<string, string>; // of the lines, by key
  lines: readonly PlotLine[];
  version: number;
  loading: boolean;
  error: string;
  options: ChartOptions;
  range: Range | undefined;
  marks: readonly AxisMark[];
  sync: string;
  onZoom: (range: Range | undefined) => void;
  csv: () => Promise<string>;
  file: string; // name of downloads, without an ending
}

const HEIGHT = 208;

export function ChartCard(props: CardProps) {
  const { title, lines, options, unit } = props;
  const frame = useRef<HTMLElement>(null);
  const [cursor, setCursor] = useState<number | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const [asTable, setAsTable] = useState(false);
  const values = useMemo(() => lines.map((l) => valueAt(l.line, cursor, unit)), [lines, props.version, cursor]);
  const named = useMemo(() => lines.map((l) => ({ name: props.names.get(l.key) ?? l.key, line: l.line })), [lines]);
  const short = useMemo(() => shortNames(named.map((l) => l.name)), [named]);
  const drawn = lines.some((l) => l.line.x.length > 0);

  const download = async () => {
    setBusy(true);
    try {
      saveBlob(`${props.file}.csv`, new Blob([await props.csv()], { type: 'text/csv' }));
    } catch (e) {
      notify('error', `No CSV of ${title}: ${errorText(e)}`);
    }
    setBusy(false);
  };

  return (
    <section class="chart card" ref={frame} aria-label={title} data-loading={props.loading}>
      <header>
        <h2>{title}</h2>
        <span class="grow" />
        <button
          class="plain small"
          aria-pressed={asTable}
          aria-label={`Show ${title} as a table`}
          onClick={() => {
            setCursor(undefined);
            setAsTable(!asTable);
          }}
        >
          Table
        </button>
        <button class="plain small" disabled={busy || !drawn} aria-label={`Download ${title} as CSV`} onClick={() => void download()}>
          CSV
        </button>
        <button
          class="plain small"
          disabled={!drawn || asTable}
          aria-label={`Download ${title} as PNG`}
          onClick={() => savePicture(`${props.file}.png`, title, frame.current!.querySelector<PlotHost>('.plot')!)}
        >
          PNG
        </button>
      </header>
      <div class={lines.length > 2 ? 'readout many' : 'readout'}>
        <span class="muted where">{cursorText(lines, cursor, options.axis)}</span>
        {lines.map((line, i) => (
          <span key={line.key} class="value" title={props.names.get(line.key)}>
            <Swatch colour={line.colour} />
            {lines.length > 1 && <span class="line-name muted">{short[i]}</span>}
            <b>{values[i]!.text}</b>
            {lines.length <= 2 && <span class="muted">{values[i]!.band}</span>}
          </span>
        ))}
      </div>
      <div class="area">
        {asTable ? (
          <ChartTable title={title} lines={named} version={props.version} axis={options.axis} unit={unit} />
        ) : (
          <Plot
            label={describe(title, named, unit)}
            lines={lines}
            unit={unit}
            stacked={props.stacked}
            version={props.version}
            options={options}
            range={props.range}
            marks={props.marks}
            sync={props.sync}
            height={HEIGHT}
            onZoom={props.onZoom}
            onCursor={setCursor}
          />
        )}
        {props.error !== '' ? (
          <Cover kind="error-text">{props.error}</Cover>
        ) : (
          !drawn && <Cover kind="muted">{props.loading ? 'Loading…' : 'No points here yet.'}</Cover>
        )}
      </div>
    </section>
  );
}

function Cover({ kind, children }: { kind: string; children: ComponentChildren }) {
  return <div class={`cover ${kind}`}>{children}</div>;
}

export function Swatch({ colour }: { colour: string }) {
  return <span class={`swatch ${colour.replace('--', '')}`} aria-hidden="true" />;
}

// What stands in for a chart that is far away.
export function ChartPlace({ title }: { title: string }) {
  return (
    <section class="chart card place" aria-label={title}>
      <header>
        <h2>{title}</h2>
      </header>
    </section>
  );
}

// The index of the last bucket that begins at or before x; the newest without a cursor.
export function indexAt(line: Line, x: number | undefined): number {
  if (x === undefined) return line.x.length - 1;
  let low = 0;
  let high = line.x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (line.x[middle]! <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function valueAt(line: Line, x: number | undefined, unit: Unit): { text: string; band: string } {
  const i = indexAt(line, x);
  if (i < 0) return { text: '–', band: '' };
  const one = line.count[i] === 1;
  const bad = line.nonFinite[i]!;
  const band = one || !Number.isFinite(line.min[i]) ? '' : ` [${formatValue(line.min[i], unit)} … ${formatValue(line.max[i], unit)}]`;
  return { text: formatValue(one ? line.last[i] : line.mean[i], unit), band: band + (bad > 0 && !one ? ` ${bad} not finite` : '') };
}

function cursorText(lines: readonly PlotLine[], x: number | undefined, axis: XAxis): string {
  if (x === undefined) return 'newest';
  if (axis === XAxis.WALL_TIME) return formatTime(x * 1000);
  if (axis === XAxis.RELATIVE_TIME) return `after ${formatDuration(x)}`;
  if (axis === XAxis.EPOCH) return `epoch ${formatNumber(x)}`;
  const line = lines.find((l) => l.line.x[indexAt(l.line, x)] === x)?.line;
  const i = line ? indexAt(line, x) : -1;
  if (!line || i < 0) return `step ${formatCount(Math.round(x))}`;
  const [first, last] = [line.firstStep[i]!, line.lastStep[i]!];
  return first === last ? `step ${formatCount(first)}` : `steps ${formatCount(first)}–${formatCount(last)}`;
}

function describe(title: string, lines: readonly NamedLine[], unit: Unit): string {
  const parts = lines.map(({ name, line }) => {
    const i = line.x.length - 1;
    const newest = i < 0 ? 'no points' : `newest value ${formatValue(line.last[i], unit)} at step ${line.lastStep[i]}`;
    return lines.length > 1 ? `${name} ${newest}` : newest;
  });
  return `${title}: ${parts.join('; ')}. Arrow keys move the cursor, plus and minus zoom, 0 shows everything.`;
}
