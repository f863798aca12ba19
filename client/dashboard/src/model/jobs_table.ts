// Filtering and sorting of the table of jobs.
import { JobState, type Job } from '../gen/ddp/v1/job_pb';
import { fraction, jobKind, secondsTaken, stateName } from './job_view';
import { milliseconds } from './format';

export type SortKey = 'created' | 'name' | 'state' | 'progress' | 'loss' | 'accuracy' | 'speed' | 'time';

export interface TableQuery {
  text: string;
  states: ReadonlySet<string>; // names; empty: all
  tag: string;
  sort: SortKey;
  descending: boolean;
}

export const DEFAULT_QUERY: TableQuery = { text: '', states: new Set(), tag: '', sort: 'created', descending: true };

export function readQuery(params: URLSearchParams): TableQuery {
  const sort = params.get('sort') ?? '';
  const key = sort.replace(/^-/, '') as SortKey;
  return {
    text: params.get('q') ?? '',
    states: new Set((params.get('state') ?? '').split(',').filter((s) => s !== '')),
    tag: params.get('tag') ?? '',
    sort: sort === '' ? 'created' : key,
    descending: sort === '' || sort.startsWith('-'),
  };
}

export function writeQuery(query: TableQuery): URLSearchParams {
  const params = new URLSearchParams();
  if (query.text !== '') params.set('q', query.text);
  if (query.states.size > 0) params.set('state', [...query.states].join(','));
  if (query.tag !== '') params.set('tag', query.tag);
  const sort = (query.descending ? '-' : '') + query.sort;
  if (sort !== '-created') params.set('sort', sort);
  return params;
}

export function allTags(jobs: Iterable<Job>): string[] {
  const tags = new Set<string>();
  for (const job of jobs) for (const tag of job.spec?.tags ?? []) tags.add(tag);
  return [...tags].sort();
}

function matches(job: Job, query: TableQuery): boolean {
  if (query.states.size > 0 && !query.states.has(stateName(job.state))) return false;
  if (query.tag !== '' && !job.spec?.tags.includes(query.tag)) return false;
  const text = [job.id, job.spec?.name, jobKind(job), ...(job.spec?.tags ?? [])].join(' ').toLowerCase();
  return query.text.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function valueOf(job: Job, key: SortKey, nowMs: number): number | string | undefined {
  const progress = job.progress;
  const trained = progress !== undefined && progress.step > 0n;
  if (key === 'name') return (job.spec?.name || job.id).toLowerCase();
  if (key === 'state') return job.state === JobState.UNSPECIFIED ? undefined : job.state;
  if (key === 'progress') return fraction(job);
  if (key === 'loss') return trained ? (progress.validLoss ?? progress.loss) : undefined;
  if (key === 'accuracy') return progress?.validAccuracy ?? progress?.accuracy;
  if (key === 'speed') return trained ? progress.samplesPerSecond : undefined;
  if (key === 'time') return secondsTaken(job, nowMs);
  return milliseconds(job.createTime);
}

// What has no value is last in both directions; equal values stand newest first.
export function selectJobs(jobs: Iterable<Job>, query: TableQuery, nowMs: number): Job[] {
  const rows = [...jobs].filter((job) => matches(job, query)).map((job) => ({ job, value: valueOf(job, query.sort, nowMs) }));
  const missing = (value: unknown) => value === undefined || Number.isNaN(value);
  rows.sort((a, b) => {
    if (missing(a.value) !== missing(b.value)) return missing(a.value) ? 1 : -1;
    const order = missing(a.value) || a.value === b.value ? 0 : a.value! < b.value! ? -1 : 1;
    if (order !== 0) return query.descending ? -order : order;
    return (milliseconds(b.job.createTime) ?? 0) - (milliseconds(a.job.createTime) ?? 0);
  });
  return rows.map((row) => row.job);
}
