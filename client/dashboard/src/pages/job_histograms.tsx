// How gradients and parameters are spread, over steps.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { errorText } from '../api/errors';
import { HeatMapCanvas } from '../charts/heat_map_canvas';
import { useNear } from '../charts/near';
import type { Job } from '../gen/ddp/v1/job_pb';
import { PointType, type Histogram } from '../gen/ddp/v1/metric_pb';
import { formatCount } from '../model/format';
import { heatMap } from '../model/heat_map';
import { useApp } from '../ui/app';

const ROWS = 80;

export function HistogramsTab({ job }: { job: Job }) {
  const { clients } = useApp();
  const [names, setNames] = useState<readonly string[] | undefined>(undefined);
  const [filter, setFilter] = useState('');
  const [error, setError] = useState('');
  useEffect(() => {
    let wanted = true;
    clients.metrics.listSeries({ jobId: job.id }).then(
      (answer) => wanted && setNames(answer.series.filter((s) => s.type === PointType.HISTOGRAM).map((s) => s.series)),
      (e) => wanted && setError(errorText(e)),
    );
    return () => void (wanted = false);
  }, [clients, job.id, job.state]);

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
          <HistogramCard key={name} job={job} name={name} />
        ))}
      </div>
    </>
  );
}

function HistogramCard({ job, name }: { job: Job; name: string }) {
  const { clients } = useApp();
  const place = useRef<HTMLElement>(null);
  const near = useNear(place);
  const [histograms, setHistograms] = useState<readonly Histogram[] | undefined>(undefined);
  const [error, setError] = useState('');
  const step = job.state;
  useEffect(() => {
    if (!near) return;
    let wanted = true;
    clients.metrics.histograms({ jobId: job.id, series: [name] }).then(
      (answer) => wanted && setHistograms(answer.histograms),
      (e) => wanted && setError(errorText(e)),
    );
    return () => void (wanted = false);
  }, [near, clients, job.id, name, step]);
  const map = useMemo(() => (histograms ? heatMap(histograms, ROWS) : undefined), [histograms]);
  const bad = histograms?.reduce((sum, h) => sum + Number(h.nonFinite), 0) ?? 0;
  return (
    <section class="chart card" ref={place} aria-label={name}>
      <header>
        <h2>{name}</h2>
        {bad > 0 && <span class="error-text">{formatCount(bad)} not finite</span>}
      </header>
      {near && map && <HeatMapCanvas map={map} label={`How ${name} is spread, over steps`} />}
      {error !== '' && <p class="error-text">{error}</p>}
      {histograms && !map && <p class="empty">No finite values.</p>}
    </section>
  );
}
