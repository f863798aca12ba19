// The table of all jobs, live.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { LossLines } from '../api/loss_lines';
import { Sparkline } from '../charts/sparkline';
import { JobState, type Job } from '../gen/ddp/v1/job_pb';
import { formatCount, formatDuration, formatFullTime, formatNumber, formatTime, milliseconds } from '../model/format';
import { fraction, hasEnded, jobKind, jobTitle, secondsLeft, secondsTaken, STATES, stateName } from '../model/job_view';
import { allTags, readQuery, selectJobs, writeQuery, type SortKey, type TableQuery } from '../model/jobs_table';
import { useApp } from '../ui/app';
import { ProgressBar } from '../ui/progress_bar';
import { go, href } from '../ui/router';
import { StateBadge } from '../ui/state_badge';
import { useNow } from '../ui/use_now';
import { useStore } from '../ui/use_store';
import { useTitle } from '../ui/use_title';

const PAGE = 50;

const COLUMNS: [key: SortKey | undefined, title: string, kind: string][] = [
  ['state', 'State', ''],
  ['name', 'Job', ''],
  ['progress', 'Progress', ''],
  ['loss', 'Loss', 'number'],
  ['accuracy', 'Accuracy', 'number wide'],
  ['speed', 'Samples/s', 'number wide'],
  ['time', 'Time', 'number'],
  ['created', 'Created', 'wide'],
];

export function JobsPage({ params }: { params: URLSearchParams }) {
  const { jobs, clients } = useApp();
  const { jobs: all, complete } = useStore(jobs.state);
  const lines = useMemo(() => new LossLines(clients.metrics), [clients]);
  useStore(lines.version);
  useTitle('Jobs');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [page, setPage] = useState(0);
  const query = readQuery(params);
  const now = useNow([...all.values()].some((job) => !hasEnded(job.state)));
  const rows = selectJobs(all.values(), query, now);
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const shownPage = Math.min(page, pages - 1);
  const shown = rows.slice(shownPage * PAGE, (shownPage + 1) * PAGE);
  const change = (part: Partial<TableQuery>) => {
    setPage(0);
    go(href(['jobs'], writeQuery({ ...query, ...part })), true);
  };
  useEffect(() => lines.show(shown));

  const sortBy = (key: SortKey) => change({ sort: key, descending: query.sort === key ? !query.descending : key !== 'name' && key !== 'state' });
  const choose = (id: string, on: boolean) => {
    const next = new Set(chosen);
    if (on) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  const compared = [...chosen].filter((id) => all.has(id));

  return (
    <>
      <div class="bar">
        <h1>Jobs</h1>
        <span class="muted">{complete ? (rows.length === all.size ? formatCount(all.size) : `${rows.length} of ${all.size}`) : ''}</span>
        <span class="grow" />
        {compared.length > 0 && (
          <>
            <button class="plain small" onClick={() => setChosen(new Set())}>
              Clear
            </button>
            <a class="button" href={href(['compare'], new URLSearchParams({ ids: compared.join(',') }))}>
              Compare {compared.length}
            </a>
          </>
        )}
        <a class="button primary" href="#/submit">
          Submit a job
        </a>
      </div>
      <Filters query={query} tags={allTags(all.values())} all={all} change={change} />
      {complete && rows.length === 0 ? (
        <p class="empty">
          {all.size === 0 ? (
            <>
              No jobs yet. <code>ddpctl submit --mode pretrain</code> makes one, and so does <a href="#/submit">this form</a>.
            </>
          ) : (
            'No job matches the filter.'
          )}
        </p>
      ) : (
        <div class="scroll">
          <table class="jobs">
            <thead>
              <tr>
                <th class="check">
                  <span class="hidden-text">Choose</span>
                </th>
                {COLUMNS.map(([key, title, kind]) => (
                  <th key={title} class={kind} aria-sort={query.sort === key ? (query.descending ? 'descending' : 'ascending') : undefined}>
                    <button class="sort" onClick={() => sortBy(key!)}>
                      {title}
                      <span aria-hidden="true">{query.sort === key ? (query.descending ? ' ↓' : ' ↑') : ''}</span>
                    </button>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map((job) => (
                <Row key={job.id} job={job} now={now} loss={lines.valuesOf(job.id)} chosen={chosen.has(job.id)} choose={choose} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {pages > 1 && (
        <nav class="pager" aria-label="Pages of the table">
          <button disabled={shownPage === 0} onClick={() => setPage(shownPage - 1)}>
            Previous
          </button>
          <span>
            Page {shownPage + 1} of {pages}
          </span>
          <button disabled={shownPage === pages - 1} onClick={() => setPage(shownPage + 1)}>
            Next
          </button>
        </nav>
      )}
    </>
  );
}

function Filters(props: { query: TableQuery; tags: string[]; all: ReadonlyMap<string, Job>; change: (part: Partial<TableQuery>) => void }) {
  const { query, tags, all, change } = props;
  const counts = new Map<JobState, number>();
  for (const job of all.values()) counts.set(job.state, (counts.get(job.state) ?? 0) + 1);
  return (
    <div class="filters">
      <input
        type="search"
        aria-label="Filter by name, id, model, data or tag"
        placeholder="Filter…"
        data-filter
        value={query.text}
        onInput={(e) => change({ text: e.currentTarget.value })}
      />
      <div class="chips" role="group" aria-label="States">
        {STATES.filter((state) => counts.has(state) || query.states.has(stateName(state))).map((state) => {
          const name = stateName(state);
          const on = query.states.has(name);
          const toggled = () => {
            const states = new Set(query.states);
            if (!states.delete(name)) states.add(name);
            change({ states });
          };
          return (
            <button key={name} class="chip" aria-pressed={on} onClick={toggled}>
              {name.charAt(0) + name.slice(1).toLowerCase()} <span class="muted">{counts.get(state) ?? 0}</span>
            </button>
          );
        })}
      </div>
      {tags.length > 0 && (
        <select aria-label="Tag" value={query.tag} onChange={(e) => change({ tag: e.currentTarget.value })}>
          <option value="">All tags</option>
          {tags.map((tag) => (
            <option key={tag} value={tag}>
              {tag}
            </option>
          ))}
        </select>
      )}
    </div>
  );
}

function Row(props: { job: Job; now: number; loss: readonly number[]; chosen: boolean; choose: (id: string, on: boolean) => void }) {
  const { job, now, loss, chosen, choose } = props;
  const progress = job.progress;
  const trained = progress !== undefined && progress.step > 0n;
  const left = secondsLeft(job, now);
  const taken = secondsTaken(job, now);
  const created = milliseconds(job.createTime);
  const title = jobTitle(job);
  const value = progress?.validLoss ?? progress?.loss;
  return (
    <tr class={chosen ? 'chosen' : undefined}>
      <td class="check">
        <input type="checkbox" aria-label={`Choose ${title}`} checked={chosen} onChange={(e) => choose(job.id, e.currentTarget.checked)} />
      </td>
      <td>
        <StateBadge state={job.state} reason={job.stateReason} />
      </td>
      <td class="name">
        <a href={href(['jobs', job.id])}>{title}</a>
        <div class="sub">
          {job.spec?.name ? `${job.id} · ` : ''}
          {jobKind(job)}
          {job.spec?.tags.map((tag) => (
            <span key={tag} class="tag">
              {tag}
            </span>
          ))}
        </div>
      </td>
      <td class="progress">
        <ProgressBar value={fraction(job)} label={`Progress of ${title}`} />
        <div class="sub">
          {progress && progress.totalSteps > 0n ? `${formatCount(progress.step)} / ${formatCount(progress.totalSteps)}` : trained ? formatCount(progress.step) : '–'}
          {trained && progress.epochs > 0 && ` · epoch ${Math.min(progress.epoch + 1, progress.epochs)}/${progress.epochs}`}
        </div>
      </td>
      <td class="number loss">
        <Sparkline values={loss} label={`Loss of ${title} over its steps`} />
        <span title={progress?.validLoss !== undefined ? 'of the last validation' : 'of the last step'}>
          {trained ? formatNumber(value) : '–'}
        </span>
      </td>
      <td class="number wide">{formatNumber(progress?.validAccuracy ?? progress?.accuracy)}</td>
      <td class="number wide">{trained && !hasEnded(job.state) ? formatNumber(progress.samplesPerSecond) : '–'}</td>
      <td class="number">
        {taken === undefined || job.state === JobState.QUEUED ? '–' : formatDuration(taken)}
        {left !== undefined && <div class="sub">{formatDuration(left)} left</div>}
      </td>
      <td class="wide" title={created === undefined ? undefined : formatFullTime(created)}>
        {formatTime(created)}
      </td>
    </tr>
  );
}
