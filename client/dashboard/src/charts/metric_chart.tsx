// The chart of some series of one job.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { JobMetrics } from '../api/job_metrics';
import type { Source } from '../api/source';
import { metricsCsv } from '../model/csv';
import { isExact, type ChartGroup } from '../model/chart_groups';
import { emptyLine } from '../model/line';
import { unitOf } from '../model/units';
import { useApp } from '../ui/app';
import { ChartCard, ChartPlace } from './chart_card';
import { useNear } from './near';
import type { AxisMark, ChartOptions, Range } from './plot';
import { colourOf, dashOf } from './colours';

export interface MetricChartProps {
  job: JobMetrics;
  group: ChartGroup;
  options: ChartOptions;
  range: Range | undefined;
  marks: readonly AxisMark[];
  onZoom: (range: Range | undefined) => void;
}

// A bucket for each two pixels is what the eye can tell apart.
function bucketsFor(element: HTMLElement | null): number {
  return Math.max(100, Math.min(1000, Math.round((element?.clientWidth ?? 600) / 1.5 / 50) * 50));
}

export function MetricChart(props: MetricChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const near = useNear(place);
  return <div ref={place}>{near ? <Mounted {...props} place={place.current} /> : <ChartPlace title={props.group.title} />}</div>;
}

function Mounted(props: MetricChartProps & { place: HTMLElement | null }) {
  const { job, range } = props;
  const { title, series, names } = props.group;
  const options = useMemo(() => (series.every(isExact) ? { ...props.options, smoothing: 0 } : props.options), [props.options, series.join()]);
  const { clients } = useApp();
  const key = series.join('\n');
  const [source, setSource] = useState<Source | undefined>(undefined);
  const [, redraw] = useState(0);
  const view = { axis: options.axis, buckets: bucketsFor(props.place), fromX: range?.[0], toX: range?.[1] };

  useEffect(() => {
    const made = job.source(series, view);
    const stop = made.data.subscribe(() => redraw((n) => n + 1));
    setSource(made);
    return () => {
      stop();
      made.close();
    };
  }, [job, key]);
  useEffect(() => source?.setView(view), [source, view.axis, view.buckets, view.fromX, view.toX]);

  const data = source?.data.value;
  const lines = useMemo(
    () => series.map((name, i) => ({ key: name, colour: colourOf(i), dash: dashOf(i), line: data?.lines.get(name) ?? emptyLine() })),
    [key, data?.version],
  );
  const csv = async () => metricsCsv((await clients.metrics.query({ jobId: job.jobId, series })).columns);
  return (
    <ChartCard
      title={title}
      unit={unitOf(series[0]!)}
      stacked={props.group.stacked}
      names={names}
      lines={lines}
      version={data?.version ?? 0}
      loading={data?.loading ?? true}
      error={data?.error ?? ''}
      options={options}
      range={range}
      marks={props.marks}
      sync={job.jobId}
      onZoom={props.onZoom}
      csv={csv}
      file={`${job.jobId}-${title}`}
    />
  );
}
