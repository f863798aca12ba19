// Any set of jobs, overlaid or grouped by a field of their specs. The ids are in the address, so that it can be shared.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { errorText } from '../api/errors';
import { ChartCard, ChartPlace, Swatch } from '../charts/chart_card';
import { colourOf, dashOf, stableLooks } from '../charts/colours';
import { ChartControls } from '../charts/controls';
import { useNear } from '../charts/near';
import type { ChartOptions, PlotLine, Range } from '../charts/plot';
import { loadChartOptions } from '../charts/use_options';
import type { Job } from '../gen/ddp/v1/job_pb';
import { PointType, type SeriesSummary } from '../gen/ddp/v1/metric_pb';
import { chartGroups, isExact } from '../model/chart_groups';
import { metricsCsv } from '../model/csv';
import { formatNumber } from '../model/format';
import { groupLine } from '../model/groups';
import { hasEnded, jobKind, jobTitle } from '../model/job_view';
import { lineOfBuckets, type Line } from '../model/line';
import { SPEC_FIELDS, specValues } from '../model/spec_fields';
import { useApp } from '../ui/app';
import { go, href } from '../ui/router';
import { StateBadge } from '../ui/state_badge';
import { useStore } from '../ui/use_store';
import { useTitle } from '../ui/use_title';

const BUCKETS = 300;
// Jobs that run are asked again while they are looked at.
const AGAIN_MS = 3000;
const MOST = 200;

// The jobs of one line: one, or those of a group.
interface Bundle {
  key: string;
  name: string;
  look: number;
  ids: string[];
}

export function ComparePage({ params }: { params: URLSearchParams }) {
  const { jobs, clients } = useApp();
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
  const [summaries, setSummaries] = useState<ReadonlyMap<string, readonly SeriesSummary[]>>(new Map());
  const [error, setError] = useState('');
  const awake = found.some((job) => !hasEnded(job.state));
  const round = useRounds(awake);

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
  }, [clients, ids, round]);

  const specs = useMemo(() => new Map(found.map((job) => [job.id, specValues(job.spec)])), [ids]);
  const bundles = useMemo(() => makeBundles(found, specs, group), [ids, group, specs]);
  const series = chartGroups([...new Set([...summaries.values()].flatMap((list) => list.map((s) => s.series)))]).flat();
  const shown = series.filter((name) => name.toLowerCase().includes(filter.toLowerCase()));
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
      <ChartControls options={options} range={range} setRange={setRange} filter={filter} setFilter={setFilter} />
      <Summary jobs={found} bundles={bundles} series={shown} summaries={summaries} differing={differing} specs={specs} grouped={group !== ''} remove={(id) => change('ids', wanted.filter((w) => w !== id).join(','))} />
      <div class="charts">
        {shown.map((name) => (
          <CompareChart key={name} series={name} ids={ids} bundles={bundles} options={options} range={range} setRange={setRange} round={round} grouped={group !== ''} />
        ))}
      </div>
    </>
  );
}

// A number that changes every few seconds while `running` and the tab is seen.
function useRounds(running: boolean): number {
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => document.hidden || setRound((n) => n + 1), AGAIN_MS);
    return () => clearInterval(timer);
  }, [running]);
  return round;
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
  ids: string;
  bundles: readonly Bundle[];
  options: ChartOptions;
  range: Range | undefined;
  setRange: (range: Range | undefined) => void;
  round: number;
  grouped: boolean;
}

function CompareChart(props: CompareChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const near = useNear(place);
  return <div ref={place}>{near ? <MountedCompare {...props} /> : <ChartPlace title={props.series} />}</div>;
}

function MountedCompare({ series, ids, bundles, options: chosen, range, setRange, round, grouped }: CompareChartProps) {
  const { clients } = useApp();
  const options = useMemo(() => (isExact(series) ? { ...chosen, smoothing: 0 } : chosen), [series, chosen]);
  const [answer, setAnswer] = useState<{ lines: ReadonlyMap<string, Line>; version: number }>({ lines: new Map(), version: 0 });
  const [loading, setLoading] = useState(true);
  const [error, setError] = useState('');
  const [from, to] = range ?? [undefined, undefined];

  useEffect(() => {
    let current = true;
    const list = ids.split(',');
    setLoading(true);
    clients.metrics.queryJobs({ jobIds: list, query: { series: [series], maxBuckets: BUCKETS, xAxis: options.axis, fromX: from, toX: to } }).then(
      ({ jobs }) => {
        if (!current) return;
        const lines = new Map(jobs.flatMap((job, i) => (job.buckets[0] ? [[list[i]!, lineOfBuckets(job.buckets[0])] as const] : [])));
        setAnswer((before) => ({ lines, version: before.version + 1 }));
        setError('');
        setLoading(false);
      },
      (e) => {
        if (!current) return;
        setError(errorText(e));
        setLoading(false);
      },
    );
    return () => void (current = false);
  }, [clients, ids, series, options.axis, from, to, round]);

  const lines: PlotLine[] = useMemo(
    () =>
      bundles.flatMap((bundle) => {
        const members = bundle.ids.flatMap((id) => answer.lines.get(id) ?? []);
        if (members.length === 0) return [];
        const line = grouped ? groupLine(members) : members[0]!;
        return [{ key: bundle.key, colour: colourOf(bundle.look), dash: dashOf(bundle.look), line }];
      }),
    [bundles, answer, grouped],
  );
  const csv = async () => {
    const parts = await Promise.all(ids.split(',').map(async (id) => ({ id, answer: await clients.metrics.query({ jobId: id, series: [series] }) })));
    const rows = parts.flatMap(({ id, answer: a }) => metricsCsv(a.columns).trimEnd().split('\n').slice(1).map((row) => `${id},${row}`));
    return ['job,series,step,time,value', ...rows].join('\n') + '\n';
  };
  return (
    <ChartCard
      title={series}
      names={new Map(bundles.map((b) => [b.key, b.name]))}
      lines={lines}
      version={answer.version}
      loading={loading}
      error={error}
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

type SummarySort = { series: string; descending: boolean } | undefined;

function Summary(props: {
  jobs: readonly Job[];
  bundles: readonly Bundle[];
  series: readonly string[];
  summaries: ReadonlyMap<string, readonly SeriesSummary[]>;
  differing: readonly string[];
  specs: ReadonlyMap<string, ReadonlyMap<string, string>>;
  grouped: boolean;
  remove: (id: string) => void;
}) {
  const { jobs, bundles, series, summaries, differing, specs } = props;
  const [sort, setSort] = useState<SummarySort>(undefined);
  const lookOf = (id: string) => bundles.find((b) => b.ids.includes(id))?.look ?? 0;
  const valueOf = (id: string, name: string) => summaries.get(id)?.find((s) => s.series === name)?.last;
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
                {path.split('.').at(-1)}
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
