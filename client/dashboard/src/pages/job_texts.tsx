import { useEffect, useState } from 'preact/hooks';
import { errorText } from '../api/errors';
import type { Job } from '../gen/ddp/v1/job_pb';
import type { Text } from '../gen/ddp/v1/metric_pb';
import { formatCount, formatTime } from '../model/format';
import { useApp } from '../ui/app';

const SHOWN = 500;

export function TextsTab({ job }: { job: Job }) {
  const { clients } = useApp();
  const [texts, setTexts] = useState<readonly Text[] | undefined>(undefined);
  const [series, setSeries] = useState('');
  const [error, setError] = useState('');
  useEffect(() => {
    let wanted = true;
    clients.metrics.texts({ jobId: job.id }).then(
      (answer) => wanted && setTexts(answer.texts),
      (e) => wanted && setError(errorText(e)),
    );
    return () => void (wanted = false);
  }, [clients, job.id, job.state]);

  if (error !== '') return <p class="empty error-text">{error}</p>;
  if (texts === undefined) return <p class="empty">Loading…</p>;
  if (texts.length === 0) return <p class="empty">This job has no texts.</p>;
  const names = [...new Set(texts.map((t) => t.series))];
  const chosen = texts.filter((t) => series === '' || t.series === series);
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
        <span class="muted">{chosen.length > SHOWN ? `the last ${SHOWN} of ${formatCount(chosen.length)}` : `${chosen.length} texts`}</span>
      </div>
      {chosen.slice(-SHOWN).map((t) => (
        <article key={`${t.series} ${t.step}`} class="card text">
          <h2>
            {t.series} <span class="muted">step {formatCount(t.step)}, {formatTime(t.time * 1000)}</span>
          </h2>
          <pre>{t.text}</pre>
        </article>
      ))}
    </>
  );
}
