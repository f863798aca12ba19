// Any set of jobs, overlaid or grouped by a field of their specs. The ids are in the address, so that it can be shared.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ComparedMetrics, MOST_FOLLOWED } from '../api/compared_metrics';
import { errorText } from '../api/errors';
import type { Source } from '../api/source';
import { ChartCard, ChartPlace, Swatch } from '../charts/chart_card';
import { colourOf, dashOf, stableLooks } from '../charts/colours';
import { ChartControls } from '../charts/controls';
import { useNear } from '../charts/near';
import type { ChartOptions, PlotLine, Range } from '../charts/plot';
import { loadChartOptions } from '../charts/use_options';
import type { Job } from '../gen/ddp/v1/job_pb';
import { PointType, type SeriesSummary } from '../gen/ddp/v1/metric_pb';
import { chartGroups, isCompared, isExact, systemGroups } from '../model/chart_groups';
import { metricsCsv } from '../model/csv';
import { formatNumber } from '../model/format';
import { groupLine } from '../model/groups';
import { hasEnded, jobKind, jobTitle, stepsPerEpoch } from '../model/job_view';
import { SPEC_FIELDS, specValues } from '../model/spec_fields';
import { unitOf } from '../model/units';
import { useApp } from '../ui/app';
import { go, href } from '../ui/router';
import { StateBadge } from '../ui/state_badge';
import { useStore } from '../ui/use_store';
import { useTitle } from '../ui/use_title';

const BUCKETS = 300;
const MOST = 200;

// The jobs of one line: one, or those of a group.
interface Bundle {
  key: string;
  name: string;
  look: number;
  ids: string[];
}

export function ComparePage({ params }: { params: URLSearchParams }) {
  const { jobs, clients, live } = useApp();
  const { jobs: all, complete } = useStore(jobs.state);
  useTitle('Compare');
  const text = params.get('ids') ?? '';
  const wanted = text.split(',').filter((id) => id !== '');
  const found = wanted.flatMap((id) => all.get(id) ?? []).slice(0, MOST);
  const ids = found.map((job) => job.id).join(',');
  const missing = complete ? wanted.filter((id) => !all.has(id)) : [];
  const group = params.get('group') ?? '';
  const options = useStore(loadChartOptions());
  const [range, setRange] = useState<Range | undefined>(undefined);
  const [filter, setFilter] = useState('');
  const [system, setSystem] = useState(false);
  const [summaries, setSummaries] = useState<ReadonlyMap<string, readonly SeriesSummary[]>>(new Map());
  const [error, setError] = useState('');
  const awake = found.filter((job) => !hasEnded(job.state)).map((job) => job.id);
  const metrics = useMemo(() => new ComparedMetrics(clients.metrics, live, ids === '' ? [] : ids.split(','), new Set(awake)), [clients, live, ids]);
  useEffect(() => () => metrics.close(), [metrics]);
  for (const job of found) metrics.jobs.get(job.id)!.stepsPerEpoch = stepsPerEpoch(job);
  useEffect(() => awake.slice(0, MOST_FOLLOWED).forEach((id) => metrics.jobs.get(id)!.wake()), [metrics, awake.join()]);
  useStore(metrics.version);

  useEffect(() => {
    if (ids === '') return;
    let current = true;
    const list = ids.split(',');
    clients.metrics.listJobsSeries({ jobIds: list }).then(
      (answer) => {
        if (!current) return;
        setSummaries(new Map(answer.jobs.map((job, i) => [list[i]!, job.series.filter((s) => s.type <= PointType.SCALAR)])));
        setError('');
      },
      (e) => current && setError(errorText(e)),
    );
    return () => void (current = false);
  }, [clients, ids]);

  const specs = useMemo(() => new Map(found.map((job) => [job.id, specValues(job.spec)])), [ids]);
  const bundles = useMemo(() => makeBundles(found, specs, group), [ids, group, specs]);
  const series = [...new Set([...[...summaries.values()].flatMap((list) => list.map((s) => s.series)), ...metrics.newSeries()])];
  const wantedSeries = (name: string) => name.toLowerCase().includes(filter.toLowerCase());
  const shown = chartGroups(series.filter((name) => isCompared(name) && wantedSeries(name))).flatMap((g) => g.series);
  const machine = systemGroups(series.filter((name) => !isCompared(name) && wantedSeries(name))).flatMap((g) => g.series);
  // Fields in which the jobs differ are those worth grouping by.
  const differing = SPEC_FIELDS.map((f) => f.path).filter((path) => new Set(found.map((job) => specs.get(job.id)?.get(path))).size > 1);
  const change = (key: string, value: string) => {
    const next = new URLSearchParams(params);
    if (value === '') next.delete(key);
    else next.set(key, value);
    go(href(['compare'], next), true);
  };

  if (wanted.length === 0)
    return (
      <>
        <div class="bar">
          <h1>Compare</h1>
        </div>
        <p class="empty">
          Choose some <a href="#/jobs">jobs</a> in the table, then “Compare”.
        </p>
      </>
    );
  return (
    <>
      <div class="bar">
        <h1>Compare</h1>
        <span class="muted">{found.length} jobs</span>
        <span class="grow" />
        <label class="check-line">
          <span class="muted">Group by</span>
          <select value={group} onChange={(e) => change('group', e.currentTarget.value)}>
            <option value="">nothing</option>
            {[...new Set([...differing, ...(group === '' ? [] : [group])])].map((path) => (
              <option key={path} value={path}>
                {path}
              </option>
            ))}
          </select>
        </label>
      </div>
      {missing.length > 0 && <p class="error-text">These jobs do not exist: {missing.join(', ')}.</p>}
      {error !== '' && <p class="error-text">{error}</p>}
      {awake.length > MOST_FOLLOWED && (
        <p class="muted">
          {MOST_FOLLOWED} of the {awake.length} jobs that run are followed live; the others are as they were when this page was opened.
        </p>
      )}
      <ChartControls options={options} range={range} setRange={setRange} filter={filter} setFilter={setFilter}>
        <button class="chip" aria-pressed={system} title="Also what was measured of the machine" onClick={() => setSystem(!system)}>
          System
        </button>
      </ChartControls>
      <Summary jobs={found} bundles={bundles} series={shown} summaries={summaries} metrics={metrics} differing={differing} specs={specs} grouped={group !== ''} remove={(id) => change('ids', wanted.filter((w) => w !== id).join(','))} />
      <div class="charts">
        {[...shown, ...(system ? machine : [])].map((name) => (
          <CompareChart key={name} series={name} metrics={metrics} bundles={bundles} options={options} range={range} setRange={setRange} grouped={group !== ''} />
        ))}
      </div>
    </>
  );
}

function makeBundles(jobs: readonly Job[], specs: ReadonlyMap<string, ReadonlyMap<string, string>>, group: string): Bundle[] {
  if (group === '') {
    const looks = stableLooks(jobs.map((job) => job.id));
    return jobs.map((job) => ({ key: job.id, name: jobTitle(job), look: looks.get(job.id)!, ids: [job.id] }));
  }
  const groups = new Map<string, string[]>();
  for (const job of jobs) {
    const value = specs.get(job.id)?.get(group) ?? 'unset';
    groups.set(value, [...(groups.get(value) ?? []), job.id]);
  }
  const names = [...groups.keys()].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  return names.map((value, i) => ({ key: value, name: `${value} (${groups.get(value)!.length})`, look: i, ids: groups.get(value)! }));
}

interface CompareChartProps {
  series: string;
  metrics: ComparedMetrics;
  bundles: readonly Bundle[];
  options: ChartOptions;
  range: Range | undefined;
  setRange: (range: Range | undefined) => void;
  grouped: boolean;
}

function CompareChart(props: CompareChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const near = useNear(place);
  return <div ref={place}>{near ? <MountedCompare {...props} /> : <ChartPlace title={props.series} />}</div>;
}

function MountedCompare({ series, metrics, bundles, options: chosen, range, setRange, grouped }: CompareChartProps) {
  const { clients } = useApp();
  const options = useMemo(() => (isExact(series) ? { ...chosen, smoothing: 0 } : chosen), [series, chosen]);
  const [source, setSource] = useState<Source | undefined>(undefined);
  const [, redraw] = useState(0);
  const view = { axis: options.axis, buckets: BUCKETS, fromX: range?.[0], toX: range?.[1] };
  useEffect(() => {
    const made = metrics.source(series, view);
    const stop = made.data.subscribe(() => redraw((n) => n + 1));
    setSource(made);
    return () => {
      stop();
      made.close();
    };
  }, [metrics, series]);
  useEffect(() => source?.setView(view), [source, view.axis, view.fromX, view.toX]);

  const data = source?.data.value;
  const lines: PlotLine[] = useMemo(
    () =>
      bundles.flatMap((bundle) => {
        const members = bundle.ids.flatMap((id) => data?.lines.get(id) ?? []);
        if (members.length === 0) return [];
        const line = grouped ? groupLine(members) : members[0]!;
        return [{ key: bundle.key, colour: colourOf(bundle.look), dash: dashOf(bundle.look), line }];
      }),
    [bundles, data?.version, grouped],
  );
  const csv = async () => {
    const parts = await Promise.all([...metrics.jobs.keys()].map(async (id) => ({ id, answer: await clients.metrics.query({ jobId: id, series: [series] }) })));
    const rows = parts.flatMap(({ id, answer: a }) => metricsCsv(a.columns).trimEnd().split('\n').slice(1).map((row) => `${id},${row}`));
    return ['job,series,step,time,value', ...rows].join('\n') + '\n';
  };
  return (
    <ChartCard
      title={series}
      unit={unitOf(series)}
      stacked={false}
      names={new Map(bundles.map((b) => [b.key, b.name]))}
      lines={lines}
      version={data?.version ?? 0}
      loading={data?.loading ?? true}
      error={data?.error ?? ''}
      options={options}
      range={range}
      marks={NO_MARKS}
      sync="compare"
      onZoom={setRange}
      csv={csv}
      file={`compare-${series}`}
    />
  );
}
const NO_MARKS = [] as const;

// The end of a field's path, and more of it where a series is called the same.
function headOf(path: string, series: readonly string[]): string {
  const parts = path.split('.');
  return series.includes(parts.at(-1)!) ? parts.slice(-2).join('.') : parts.at(-1)!;
}

type SummarySort = { series: string; descending: boolean } | undefined;

function Summary(props: {
  jobs: readonly Job[];
  bundles: readonly Bundle[];
  series: readonly string[];
  summaries: ReadonlyMap<string, readonly SeriesSummary[]>;
  metrics: ComparedMetrics;
  differing: readonly string[];
  specs: ReadonlyMap<string, ReadonlyMap<string, string>>;
  grouped: boolean;
  remove: (id: string) => void;
}) {
  const { jobs, bundles, series, summaries, metrics, differing, specs } = props;
  const [sort, setSort] = useState<SummarySort>(undefined);
  const lookOf = (id: string) => bundles.find((b) => b.ids.includes(id))?.look ?? 0;
  const valueOf = (id: string, name: string) => metrics.newest(id, name) ?? summaries.get(id)?.find((s) => s.series === name)?.last;
  const rows = [...jobs];
  if (sort) {
    rows.sort((a, b) => {
      const [x, y] = [valueOf(a.id, sort.series) ?? NaN, valueOf(b.id, sort.series) ?? NaN];
      if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
      return sort.descending ? y - x : x - y;
    });
  }
  const fields = differing.filter((path) => path !== 'name' && path !== 'tags').slice(0, 6);
  return (
    <div class="scroll summary">
      <table>
        <thead>
          <tr>
            <th>Job</th>
            <th>State</th>
            {fields.map((path) => (
              <th key={path} title={path}>
                {headOf(path, series)}
              </th>
            ))}
            {series.map((name) => {
              const on = sort?.series === name;
              return (
                <th key={name} class="number" aria-sort={on ? (sort.descending ? 'descending' : 'ascending') : undefined}>
                  <button class="sort" title="the newest value" onClick={() => setSort({ series: name, descending: on && !sort.descending })}>
                    {name}
                    <span aria-hidden="true">{on ? (sort.descending ? ' ↓' : ' ↑') : ''}</span>
                  </button>
                </th>
              );
            })}
            <th>
              <span class="hidden-text">Remove</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((job) => (
            <tr key={job.id}>
              <td class="name">
                <Swatch colour={colourOf(lookOf(job.id))} />
                <a href={href(['jobs', job.id])}>{jobTitle(job)}</a>
                <div class="sub">{jobKind(job)}</div>
              </td>
              <td>
                <StateBadge state={job.state} />
              </td>
              {fields.map((path) => (
                <td key={path} class="mono">
                  {specs.get(job.id)?.get(path) ?? '–'}
                </td>
              ))}
              {series.map((name) => (
                <td key={name} class="number">
                  {formatNumber(valueOf(job.id, name))}
                </td>
              ))}
              <td>
                <button class="plain small" aria-label={`Leave out ${jobTitle(job)}`} onClick={() => props.remove(job.id)}>
                  ✕
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
