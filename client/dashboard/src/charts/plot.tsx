// One uPlot chart. It is made anew when its lines or axes change, and fed otherwise.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { XAxis } from '../gen/ddp/v1/metric_pb';
import { chartColumns, COLUMNS_PER_LINE, nonFiniteMarks, padded, yRange, type ChartColumns, type Mark } from '../model/chart_data';
import { formatDuration, formatNumber } from '../model/format';
import { stacked, type Line } from '../model/line';
import { formatTicks, fromZero, incrementsOf, type Unit } from '../model/units';
import { cssColour, palette } from '../ui/theme';
import { useStore } from '../ui/use_store';

export interface PlotLine {
  key: string;
  colour: string; // a CSS variable
  dash?: number[];
  line: Line;
}
export interface ChartOptions {
  axis: XAxis;
  smoothing: number;
  logX: boolean;
  logY: boolean;
  clip: boolean;
}
export type Range = readonly [from: number, to: number];
// A place on the x-axis: the start of an attempt.
export interface AxisMark {
  x: number;
  label: string;
}

export interface PlotProps {
  label: string; // for screen readers
  lines: readonly PlotLine[];
  unit: Unit;
  stacked: boolean;
  version: number; // changes with the contents of the lines
  options: ChartOptions;
  range: Range | undefined; // undefined: everything
  marks: readonly AxisMark[];
  sync: string;
  height: number;
  onZoom: (range: Range | undefined) => void;
  // The index into the x column, and what it is of each line; undefined: the cursor is elsewhere.
  onCursor: (x: number | undefined) => void;
}

// What tests and the picture need of a mounted chart.
export interface PlotHost extends HTMLDivElement {
  plot?: uPlot;
}

export function Plot(props: PlotProps) {
  const host = useRef<PlotHost>(null);
  const latest = useRef(props);
  const drawn = useRef<{ columns: ChartColumns; nonFinite: Mark[] }>({ columns: [[]], nonFinite: [] });
  latest.current = props;
  const { options, lines } = props;
  const colours = useStore(palette);
  const shape = [props.unit, options.axis, options.logX, options.logY, options.smoothing > 0, colours, ...lines.map((l) => l.key + l.colour)].join('\n');

  useEffect(() => {
    const element = host.current!;
    const plot = new uPlot(makeOptions(element, latest, drawn), [[]], element);
    element.plot = plot;
    const fit = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: latest.current.height }));
    fit.observe(element);
    return () => {
      fit.disconnect();
      plot.destroy();
      delete element.plot;
    };
  }, [shape]);

  useEffect(() => {
    const plot = host.current?.plot;
    if (!plot) return;
    const own = lines.map((l) => l.line);
    const data = (props.stacked && stacked(own)) || own;
    drawn.current = { columns: chartColumns(data, options), nonFinite: nonFiniteMarks(data) };
    plot.setData(drawn.current.columns as uPlot.AlignedData, false);
    const x = drawn.current.columns[0];
    const [from, to] = props.range ?? [x[0] ?? (options.logX ? 1 : 0), x.at(-1) ?? 1];
    const [low, high] = from === to ? [from - 0.5, to + 0.5] : [from, to];
    const y = yRange(drawn.current.columns, options.clip, low, high) ?? (options.logY ? [0.1, 1] : [0, 1]);
    const padding = padded(y as [number, number], options.logY);
    const [bottom, top] = fromZero(props.unit) && !options.logY && y[0] >= 0 ? [0, padding[1]] : padding;
    plot.batch(() => {
      plot.setScale('x', { min: low, max: high });
      plot.setScale('y', { min: bottom, max: top });
    });
  }, [shape, props.version, props.range, props.marks, options.smoothing, options.clip]);

  return (
    <div
      ref={host}
      class="plot"
      tabIndex={0}
      role="application"
      aria-roledescription="chart"
      aria-label={props.label}
      onKeyDown={(event) => pressed(event, host.current?.plot, latest.current)}
    />
  );
}

function pressed(event: KeyboardEvent, plot: uPlot | undefined, props: PlotProps): void {
  const x = plot?.data[0];
  if (!plot || !x || x.length === 0) return;
  const last = x.length - 1;
  // By its place: the index is that of the points before the newest answer.
  const left = plot.cursor.left ?? -1;
  const at = left >= 0 ? plot.posToIdx(left) : last;
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const zoom = { '+': 0.5, '=': 0.5, '-': 2, _: 2 }[event.key];
  if (move !== undefined) {
    const next = Math.max(0, Math.min(last, at + move * (event.shiftKey ? 10 : 1)));
    plot.setCursor({ left: plot.valToPos(x[next]!, 'x'), top: plot.over.clientHeight / 2 });
  } else if (zoom !== undefined) {
    const { min, max } = plot.scales.x!;
    const middle = x[at]!;
    // All that the bucket under the cursor stands for stays in view: its points may lie as far as its neighbours.
    const before = middle - (x[at - 1] ?? middle);
    const after = (x[at + 1] ?? middle + before) - middle;
    props.onZoom([
      Math.min(middle - (middle - min!) * zoom, middle - before),
      Math.max(middle + (max! - middle) * zoom, middle + after),
    ]);
  } else if (event.key === '0') {
    props.onZoom(undefined);
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}

type Ref<T> = { current: T };

function makeOptions(host: HTMLElement, latest: Ref<PlotProps>, drawn: Ref<{ columns: ChartColumns; nonFinite: Mark[] }>): uPlot.Options {
  const { options, lines, sync, height, unit, stacked: areas } = latest.current;
  const text = cssColour('--muted');
  const grid = { stroke: cssColour('--grid'), width: 1 };
  const ticks = { stroke: cssColour('--grid'), width: 1, size: 4 };
  const font = '11px system-ui, sans-serif';
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  lines.forEach((line, l) => {
    const stroke = cssColour(line.colour);
    const smooth = options.smoothing > 0;
    const first = 1 + l * COLUMNS_PER_LINE;
    const none = { width: 0, points: { show: false }, stroke: 'transparent' };
    series.push(none, none);
    series.push({ stroke: smooth ? withAlpha(stroke, 0.28) : stroke, width: smooth ? 1 : 1.5, dash: line.dash, points: { show: alone, size: 5, fill: stroke } });
    series.push({ stroke, width: 1.75, dash: line.dash, show: smooth, points: { show: false } });
    // An area reaches down to the line before; the first one, to zero.
    const top = first + (smooth ? 3 : 2);
    if (!areas) bands.push({ series: [first + 1, first], fill: withAlpha(stroke, 0.16) });
    else if (l > 0) bands.push({ series: [top, top - COLUMNS_PER_LINE], fill: withAlpha(stroke, 0.4) });
    else series[top]!.fill = withAlpha(stroke, 0.4);
  });
  return {
    width: Math.max(50, host.clientWidth),
    height,
    legend: { show: false },
    padding: [8, 10, 0, 0],
    cursor: {
      sync: { key: sync, setSeries: false },
      drag: { x: true, y: false, setScale: false },
      points: { show: (_, i) => (i > 0 && (i - 1) % COLUMNS_PER_LINE >= 2 ? pointOf(cssColour(lines[Math.floor((i - 1) / COLUMNS_PER_LINE)]!.colour)) : (undefined as never)) },
      bind: { dblclick: () => () => (latest.current.onZoom(undefined), null) },
    },
    scales: {
      x: { time: options.axis === XAxis.WALL_TIME, distr: options.logX ? 3 : 1, auto: false, range: (_, min, max) => [min, max] },
      y: {
        distr: options.logY ? 3 : 1,
        // Set together with x; uPlot's own ranges are those of the moment before.
        auto: false,
        range: (_, min, max) => [min, max],
      },
    },
    axes: [
      { stroke: text, grid, ticks, font, size: 28, values: options.axis === XAxis.RELATIVE_TIME ? (_, at) => at.map((v) => formatDuration(v)) : options.axis === XAxis.WALL_TIME ? undefined : (_, at) => at.map(tick) },
      {
        stroke: text,
        grid,
        ticks,
        font,
        size: unit === 'number' ? 56 : 68,
        values: (_, at) => formatTicks(at, unit),
        incrs: incrementsOf(unit),
      },
    ],
    series,
    bands,
    hooks: {
      setSelect: [
        (plot) => {
          if (plot.select.width < 4) return;
          const range: Range = [plot.posToVal(plot.select.left, 'x'), plot.posToVal(plot.select.left + plot.select.width, 'x')];
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          latest.current.onZoom(range);
        },
      ],
      setCursor: [
        (plot) => {
          const i = plot.cursor.idx;
          latest.current.onCursor(i === null || i === undefined ? undefined : plot.data[0][i]);
        },
      ],
      draw: [(plot) => drawMarks(plot, latest.current, drawn.current.nonFinite)],
    },
  };
}

function tick(value: number | null): string {
  return value === null ? '' : formatNumber(value);
}

// A point without neighbours would not be seen as a line.
function alone(plot: uPlot, series: number): boolean {
  const column = plot.data[series];
  if (!column) return false;
  let seen = 0;
  for (const value of column) if (value !== null && value !== undefined && ++seen > 24) return false;
  return true;
}

function pointOf(colour: string): HTMLElement {
  const point = document.createElement('div');
  point.style.background = colour;
  return point;
}

function withAlpha(colour: string, alpha: number): string {
  const hex = Math.round(alpha * 255).toString(16).padStart(2, '0');
  return /^#[0-9a-f]{6}$/i.test(colour) ? colour + hex : colour;
}

// Starts of attempts as dashed lines, and a triangle at the lower edge where a value was no number.
function drawMarks(plot: uPlot, props: PlotProps, nonFinite: readonly Mark[]): void {
  const { ctx, bbox } = plot;
  const ratio = uPlot.pxRatio;
  const inside = (x: number) => x >= plot.scales.x!.min! && x <= plot.scales.x!.max!;
  ctx.save();
  ctx.font = `${10 * ratio}px system-ui, sans-serif`;
  ctx.strokeStyle = cssColour('--line-strong');
  ctx.fillStyle = cssColour('--muted');
  ctx.lineWidth = ratio;
  ctx.setLineDash([4 * ratio, 3 * ratio]);
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  for (const mark of props.marks) {
    if (!inside(mark.x)) continue;
    const x = Math.round(plot.valToPos(mark.x, 'x', true));
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(mark.label, x + 3 * ratio, bbox.top + 10 * ratio);
  }
  ctx.setLineDash([]);
  ctx.fillStyle = cssColour('--bad');
  const size = 5 * ratio;
  const bottom = bbox.top + bbox.height - ratio;
  for (const mark of nonFinite) {
    if (!inside(mark.x)) continue;
    const x = plot.valToPos(mark.x, 'x', true);
    ctx.beginPath();
    ctx.moveTo(x - size, bottom);
    ctx.lineTo(x + size, bottom);
    ctx.lineTo(x, bottom - 1.6 * size);
    ctx.fill();
  }
  ctx.restore();
}
