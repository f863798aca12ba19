import { useEffect, useMemo } from 'preact/hooks';
import { JobMetrics } from '../api/job_metrics';
import { JobState, type Job } from '../gen/ddp/v1/job_pb';
import { formatCount, formatDuration, formatNumber } from '../model/format';
import { fraction, hasEnded, jobKind, jobTitle, newestAttempt, secondsLeft, secondsTaken, stepsPerEpoch } from '../model/job_view';
import { useApp } from '../ui/app';
import { ProgressBar } from '../ui/progress_bar';
import { href } from '../ui/router';
import { StateBadge } from '../ui/state_badge';
import { useNow } from '../ui/use_now';
import { useTitle } from '../ui/use_title';
import { JobButtons } from './job_buttons';
import { CheckpointsTab } from './job_checkpoints';
import { ConfigTab } from './job_config';
import { EventsTab } from './job_events';
import { HistogramsTab } from './job_histograms';
import { LogsTab } from './job_logs';
import { MetricsTab } from './job_metrics';
import { TextsTab } from './job_texts';
import { useJob } from './use_job';

const TABS: [id: string, title: string][] = [
  ['metrics', 'Metrics'],
  ['system', 'System'],
  ['config', 'Config'],
  ['events', 'Events'],
  ['logs', 'Logs'],
  ['checkpoints', 'Checkpoints'],
  ['histograms', 'Histograms'],
  ['texts', 'Texts'],
];

export function JobPage({ id, tab, params }: { id: string; tab: string; params: URLSearchParams }) {
  const { clients, live } = useApp();
  const { job, events, error } = useJob(id);
  const metrics = useMemo(() => {
    const made = new JobMetrics(clients.metrics, live, id);
    if (tab === 'metrics' || tab === 'system') made.listEarly();
    return made;
  }, [clients, live, id]);
  useEffect(() => () => metrics.close(), [metrics]);
  metrics.stepsPerEpoch = stepsPerEpoch(job);
  const awake = job !== undefined && !hasEnded(job.state);
  useEffect(() => {
    if (awake) metrics.wake();
  }, [awake, metrics]);
  useTitle(job ? jobTitle(job) : id);

  if (!job) return error === '' ? <p class="empty">Loading…</p> : <p class="empty error-text">{error}</p>;
  return (
    <>
      <JobHeader job={job} />
      <nav class="tabs" aria-label="Of this job">
        {TABS.map(([name, title]) => (
          <a key={name} href={href(['jobs', id, name])} aria-current={tab === name ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      {(tab === 'metrics' || tab === 'system') && <MetricsTab key={tab} job={job} metrics={metrics} system={tab === 'system'} />}
      {tab === 'config' && <ConfigTab job={job} params={params} />}
      {tab === 'events' && <EventsTab job={job} events={events} />}
      {tab === 'logs' && <LogsTab job={job} />}
      {tab === 'checkpoints' && <CheckpointsTab job={job} />}
      {tab === 'histograms' && <HistogramsTab job={job} />}
      {tab === 'texts' && <TextsTab job={job} />}
    </>
  );
}

function JobHeader({ job }: { job: Job }) {
  const now = useNow(!hasEnded(job.state));
  const progress = job.progress;
  const left = secondsLeft(job, now);
  const taken = secondsTaken(job, now);
  const attempt = newestAttempt(job);
  const failure = job.failure;
  const trained = progress !== undefined && progress.step > 0n;
  const facts: [string, string][] = [];
  if (progress && progress.totalSteps > 0n) facts.push(['Step', `${formatCount(progress.step)} / ${formatCount(progress.totalSteps)}`]);
  if (trained && progress.epochs > 0) facts.push(['Epoch', `${Math.min(progress.epoch + 1, progress.epochs)} / ${progress.epochs}`]);
  if (trained) facts.push(['Loss', formatNumber(progress.loss)]);
  if (progress?.accuracy !== undefined) facts.push(['Accuracy', formatNumber(progress.accuracy)]);
  if (progress?.validLoss !== undefined) facts.push(['Valid loss', formatNumber(progress.validLoss)]);
  if (progress?.validAccuracy !== undefined) facts.push(['Valid accuracy', formatNumber(progress.validAccuracy)]);
  if (trained) facts.push(['Learning rate', formatNumber(progress.lr)]);
  if (trained && !hasEnded(job.state)) facts.push(['Samples/s', formatNumber(progress.samplesPerSecond)]);
  if (taken !== undefined && job.state !== JobState.QUEUED) facts.push(['Time', formatDuration(taken)]);
  if (left !== undefined) facts.push(['Left', formatDuration(left)]);
  if (job.attempts.length > 1) facts.push(['Attempt', String(attempt?.number)]);
  if (attempt && attempt.nproc > 0) facts.push(['Ranks', String(attempt.nproc)]);

  return (
    <header class="job-header">
      <div class="bar">
        <h1>{jobTitle(job)}</h1>
        <StateBadge state={job.state} reason={job.stateReason} />
        <span class="grow" />
        <JobButtons job={job} />
      </div>
      <p class="sub">
        <span class="mono">{job.id}</span> · {jobKind(job)}
        {job.spec?.tags.map((tag) => (
          <span key={tag} class="tag">
            {tag}
          </span>
        ))}
        <Lineage job={job} />
      </p>
      <ProgressBar value={fraction(job)} label="Progress of the job" />
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {job.stateReason !== '' && job.stateReason !== failure?.message && <p class="sub">{job.stateReason}</p>}
      {failure && failure.message !== '' && (
        <details class={`failure ${job.state === JobState.FAILED ? 'bad' : ''}`} open={job.state === JobState.FAILED}>
          <summary>
            {failure.rank >= 0 ? `Rank ${failure.rank}` : 'Attempt'}
            {failure.signal > 0 ? `, signal ${failure.signal}` : failure.exitCode > 0 ? `, exit code ${failure.exitCode}` : ''}, after step{' '}
            {formatCount(failure.step)}: {failure.message}
          </summary>
          {failure.logTail !== '' && <pre>{failure.logTail}</pre>}
        </details>
      )}
    </header>
  );
}

// The job that this one started from, and those that started from it.
function Lineage({ job }: { job: Job }) {
  const { jobs } = useApp();
  const all = jobs.state.value.jobs;
  const link = (id: string) => (
    <a key={id} href={href(['jobs', id])}>
      {all.get(id) ? jobTitle(all.get(id)!) : id}
    </a>
  );
  const children = [...all.values()].filter((other) => other.parentId === job.id);
  return (
    <>
      {job.parentId !== '' && <span class="lineage"> · from {link(job.parentId)}</span>}
      {children.length > 0 && (
        <span class="lineage">
          {' '}
          · parent of{' '}
          {children.slice(0, 8).map((child, i) => (
            <>
              {i > 0 && ', '}
              {link(child.id)}
            </>
          ))}
          {children.length > 8 && ` and ${children.length - 8} more`}
        </span>
      )}
    </>
  );
}
