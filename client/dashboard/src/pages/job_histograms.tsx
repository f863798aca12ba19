// How gradients and parameters are spread, over steps.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { errorText } from '../api/errors';
import { HistogramCalls } from '../api/histogram_calls';
import { Tail } from '../api/tail';
import { HeatMapCanvas } from '../charts/heat_map_canvas';
import { HistogramTable } from '../charts/histogram_table';
import { useNear } from '../charts/near';
import type { Job } from '../gen/ddp/v1/job_pb';
import { PointType, type Histogram } from '../gen/ddp/v1/metric_pb';
import { formatCount } from '../model/format';
import { heatMap } from '../model/heat_map';
import { newestAttempt, trainingOf } from '../model/job_view';
import { useApp } from '../ui/app';
import { useStore } from '../ui/use_store';

const ROWS = 80;
// Twice what the daemon answers with: then it thins them out again.
const MOST_STEPS = 400;

export function HistogramsTab({ job }: { job: Job }) {
  const { clients } = useApp();
  const [names, setNames] = useState<readonly string[] | undefined>(undefined);
  const [filter, setFilter] = useState('');
  const [error, setError] = useState('');
  const calls = useMemo(() => new HistogramCalls(clients.metrics, job.id), [clients, job.id]);
  // New ones come at multiples of watch_every: when the job has passed one, there is something to ask for.
  const every = Number(trainingOf(job.spec)?.watchEvery ?? 0);
  const passed = every > 0 ? Math.floor(Number(job.progress?.step ?? 0n) / every) : 0;
  useEffect(() => {
    if (names !== undefined && names.length > 0) return;
    let wanted = true;
    clients.metrics.listSeries({ jobId: job.id }).then(
      (answer) => wanted && setNames(answer.series.filter((s) => s.type === PointType.HISTOGRAM).map((s) => s.series)),
      (e) => wanted && setError(errorText(e)),
    );
    return () => void (wanted = false);
  }, [clients, job.id, job.state, passed]);

  if (error !== '') return <p class="empty error-text">{error}</p>;
  if (names === undefined) return <p class="empty">Loading…</p>;
  if (names.length === 0)
    return (
      <p class="empty">
        This job has no histograms. <code>--watch-every N</code> (training.watch_every) makes them.
      </p>
    );
  const chosen = names.filter((name) => name.toLowerCase().includes(filter.toLowerCase()));
  return (
    <>
      <div class="controls">
        <input
          type="search"
          data-filter
          aria-label="Filter tensors by name"
          placeholder="Filter tensors…"
          value={filter}
          onInput={(e) => setFilter(e.currentTarget.value)}
        />
        <span class="muted">{formatCount(chosen.length)} tensors</span>
      </div>
      <div class="charts">
        {chosen.map((name) => (
          <HistogramCard key={name} name={name} calls={calls} attempt={newestAttempt(job)?.number ?? 0} moved={`${passed} ${job.state}`} />
        ))}
      </div>
    </>
  );
}

function HistogramCard({ name, calls, attempt, moved }: { name: string; calls: HistogramCalls; attempt: number; moved: string }) {
  const place = useRef<HTMLElement>(null);
  const near = useNear(place);
  const [asTable, setAsTable] = useState(false);
  const tail = useMemo(() => new Tail<Histogram>((fromStep) => calls.ask(name, fromStep), MOST_STEPS), [calls, name]);
  useEffect(() => () => tail.close(), [tail]);
  const { items: histograms, error } = useStore(tail.state);
  useEffect(() => {
    if (near) tail.moved(attempt);
  }, [tail, near, attempt, moved]);
  const map = useMemo(() => (histograms ? heatMap(histograms, ROWS) : undefined), [histograms]);
  const bad = histograms?.reduce((sum, h) => sum + Number(h.nonFinite), 0) ?? 0;
  return (
    <section class="chart card" ref={place} aria-label={name}>
      <header>
        <h2>{name}</h2>
        <span class="grow" />
        {bad > 0 && <span class="error-text">{formatCount(bad)} not finite</span>}
        <button class="plain small" aria-pressed={asTable} aria-label={`Show ${name} as a table`} onClick={() => setAsTable(!asTable)}>
          Table
        </button>
      </header>
      {near && map && !asTable && <HeatMapCanvas map={map} label={`How ${name} is spread, over steps`} />}
      {near && histograms && asTable && <HistogramTable name={name} histograms={histograms} />}
      {error !== '' && <p class="error-text">{error}</p>}
      {histograms && !map && <p class="empty">No finite values.</p>}
    </section>
  );
}
