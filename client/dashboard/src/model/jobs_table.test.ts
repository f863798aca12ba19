import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { JobSchema, JobState } from '../gen/ddp/v1/job_pb';
import { allTags, DEFAULT_QUERY, readQuery, selectJobs, writeQuery } from './jobs_table';

const job = (id: string, at: number, state: JobState, loss: number | undefined, tags: string[] = []) =>
  create(JobSchema, {
    id,
    state,
    createTime: timestampFromMs(at),
    spec: { name: `run ${id}`, tags },
    progress: loss === undefined ? undefined : { step: 5n, loss },
  });
const jobs = [
  job('a', 1, JobState.SUCCEEDED, 0.5, ['lab']),
  job('b', 2, JobState.RUNNING, NaN, ['lab', 'big']),
  job('c', 3, JobState.QUEUED, undefined),
  job('d', 4, JobState.FAILED, 0.2),
];
const ids = (change: Partial<typeof DEFAULT_QUERY>) => selectJobs(jobs, { ...DEFAULT_QUERY, ...change }, 0).map((j) => j.id).join('');

describe('table of jobs', () => {
  it('shows the newest first', () => expect(ids({})).toBe('dcba'));
  it('sorts both ways and keeps what has no value last', () => {
    expect(ids({ sort: 'loss', descending: false })).toBe('dacb');
    expect(ids({ sort: 'loss', descending: true })).toBe('adcb');
  });
  it('filters by words, state and tag', () => {
    expect(ids({ text: 'RUN d' })).toBe('d');
    expect(ids({ text: 'big lab' })).toBe('b');
    expect(ids({ states: new Set(['RUNNING', 'FAILED']) })).toBe('db');
    expect(ids({ tag: 'lab' })).toBe('ba');
  });
  it('is a part of the address', () => {
    const query = { text: 'x y', states: new Set(['FAILED']), tag: 't', sort: 'loss' as const, descending: false };
    expect(readQuery(writeQuery(query))).toEqual(query);
    expect(writeQuery(DEFAULT_QUERY).toString()).toBe('');
    expect(readQuery(new URLSearchParams())).toEqual(DEFAULT_QUERY);
  });
  it('lists tags once', () => expect(allTags(jobs)).toEqual(['big', 'lab']));
});
