import { useEffect, useMemo, useState } from 'preact/hooks';
import { Tail } from '../api/tail';
import type { Job } from '../gen/ddp/v1/job_pb';
import type { Text } from '../gen/ddp/v1/metric_pb';
import { formatCount, formatTime } from '../model/format';
import { newestAttempt } from '../model/job_view';
import { useApp } from '../ui/app';
import { useStore } from '../ui/use_store';

const SHOWN = 500;

export function TextsTab({ job }: { job: Job }) {
  const { clients } = useApp();
  const [series, setSeries] = useState('');
  const tail = useMemo(() => new Tail<Text>(async (fromStep) => (await clients.metrics.texts({ jobId: job.id, fromStep })).texts), [clients, job.id]);
  useEffect(() => () => tail.close(), [tail]);
  const { items: texts, error } = useStore(tail.state);
  useEffect(() => tail.moved(newestAttempt(job)?.number ?? 0), [tail, job.progress?.step, newestAttempt(job)?.number, job.state]);

  if (texts === undefined) return error !== '' ? <p class="empty error-text">{error}</p> : <p class="empty">Loading…</p>;
  if (texts.length === 0) return <p class="empty">This job has no texts yet.</p>;
  const names = [...new Set(texts.map((t) => t.series))].sort();
  const chosen = texts.filter((t) => series === '' || t.series === series).sort((a, b) => Number(b.step - a.step));
  return (
    <>
      <div class="controls">
        <label>
          <span>Series</span>
          <select value={series} onChange={(e) => setSeries(e.currentTarget.value)}>
            <option value="">all</option>
            {names.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <span class="muted">
          {chosen.length > SHOWN ? `the newest ${SHOWN} of ${formatCount(chosen.length)}` : chosen.length === 1 ? '1 text' : `${chosen.length} texts`}, the newest first
        </span>
        {error !== '' && <span class="error-text">{error}</span>}
      </div>
      {chosen.slice(0, SHOWN).map((t) => (
        <article key={`${t.series} ${t.step}`} class="card text">
          <h2>
            {t.series}{' '}
            <span class="muted">
              step {formatCount(t.step)}, {formatTime(t.time * 1000)}
            </span>
          </h2>
          <pre>{t.text}</pre>
        </article>
      ))}
    </>
  );
}
