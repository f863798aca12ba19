import { useEffect, useRef, useState } from 'preact/hooks';
import { LOG_LINES, LogLines } from '../api/log_lines';
import type { Job } from '../gen/ddp/v1/job_pb';
import { hasEnded, newestAttempt } from '../model/job_view';
import { Store } from '../model/store';
import { useApp } from '../ui/app';
import { useStore } from '../ui/use_store';

const NONE = new Store<LogLines['lines']['value']>([]);
const QUIET = new Store('');

export function LogsTab({ job }: { job: Job }) {
  const { live } = useApp();
  const [rank, setRank] = useState(-1);
  const [attempt, setAttempt] = useState(0);
  const [log, setLog] = useState<LogLines | undefined>(undefined);
  const [follow, setFollow] = useState(true);
  const view = useRef<HTMLDivElement>(null);
  const newest = newestAttempt(job);
  const ranks = newest ? Math.max(newest.nproc, newest.workerPids.length) : 0;
  const awake = !hasEnded(job.state);

  useEffect(() => {
    const made = new LogLines(live, job.id, rank, attempt);
    setLog(made);
    return () => made.close();
    // A job that is resumed has new lines: the stream that ended with it is opened again.
  }, [live, job.id, rank, attempt, awake]);
  const lines = useStore(log?.lines ?? NONE);
  const error = useStore(log?.error ?? QUIET);
  useEffect(() => {
    if (follow && view.current) view.current.scrollTop = view.current.scrollHeight;
  }, [lines, follow]);
  const scrolled = () => {
    const v = view.current!;
    setFollow(v.scrollHeight - v.scrollTop - v.clientHeight < 24);
  };

  return (
    <>
      <div class="controls">
        <label>
          <span>Rank</span>
          <select value={rank} onChange={(e) => setRank(Number(e.currentTarget.value))}>
            <option value={-1}>all</option>
            {Array.from({ length: ranks }, (_, i) => (
              <option key={i} value={i}>
                {i}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span>From attempt</span>
          <select value={attempt} onChange={(e) => setAttempt(Number(e.currentTarget.value))}>
            <option value={0}>newest</option>
            {job.attempts.map((a) => (
              <option key={a.number} value={a.number}>
                {a.number}
              </option>
            ))}
          </select>
        </label>
        <label>
          <input type="checkbox" checked={follow} onChange={(e) => setFollow(e.currentTarget.checked)} /> Follow
        </label>
        <span class="muted">{lines.length >= LOG_LINES ? `the last ${LOG_LINES} lines` : lines.length === 1 ? '1 line' : `${lines.length} lines`}</span>
      </div>
      {error !== '' && <p class="error-text">{error}</p>}
      <div class="log card" ref={view} onScroll={scrolled} tabIndex={0} role="log" aria-label="Log" aria-live="off">
        {lines.map((line) => (
          <div key={line.id} class="line">
            {rank < 0 && <span class="rank">{line.rank}</span>}
            <span>{line.text}</span>
          </div>
        ))}
      </div>
    </>
  );
}
