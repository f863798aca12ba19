import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, createRouterTransport } from '@connectrpc/connect';
import { expect, it, vi } from 'vitest';
import { JobSchema, JobState } from '../gen/ddp/v1/job_pb';
import { FollowResponseSchema, LiveService } from '../gen/ddp/v1/live_pb';
import { MetricService } from '../gen/ddp/v1/metric_pb';
import { makeClients } from './clients';
import { Jobs } from './jobs';
import { Live } from './live';
import { halved, LossLines } from './loss_lines';

it('keeps the list through a restart and drops what was deleted meanwhile', async () => {
  const rounds = [
    [{ jobs: [{ id: 'a' }, { id: 'b' }], complete: true }, { jobs: [{ id: 'b', state: JobState.RUNNING }, { id: 'c' }], deleted: ['a'] }],
    [{ jobs: [{ id: 'b' }] }, { jobs: [{ id: 'd' }], complete: true }],
  ];
  let call = 0;
  let cut = () => {};
  const transport = createRouterTransport(({ service }) =>
    service(LiveService, {
      async *follow() {
        for (const value of rounds[call++] ?? []) yield create(FollowResponseSchema, { topic: 0, update: { case: 'jobs', value } });
        await new Promise<void>((resolve) => (cut = resolve));
        throw new ConnectError('gone', Code.Unavailable);
      },
    }),
  );
  const live = new Live({ follow: (r, o) => makeClients(transport).live.follow(r, o), delay: async () => {} });
  const jobs = new Jobs(live);
  const ids = () => [...jobs.state.value.jobs.keys()].join('');
  await vi.waitFor(() => expect(ids()).toBe('bc'));
  expect(jobs.state.value.jobs.get('b')?.state).toBe(JobState.RUNNING);
  cut();
  await vi.waitFor(() => expect(ids()).toBe('bd'));
});

it('grows the loss of a job by its progress, and asks again when it went back', async () => {
  const asked: string[][] = [];
  const transport = createRouterTransport(({ service }) =>
    service(MetricService, {
      queryJobs(request) {
        asked.push(request.jobIds);
        return { jobs: request.jobIds.map(() => ({ buckets: [{ series: 'loss', buckets: [{ mean: 3, lastStep: 1n }, { mean: 2, lastStep: 2n }] }] })) };
      },
    }),
  );
  const lines = new LossLines(makeClients(transport).metrics);
  const job = (step: bigint, loss: number) => create(JobSchema, { id: 'a', progress: { step, loss } });
  lines.show([job(2n, 2)]);
  await vi.waitFor(() => expect(lines.valuesOf('a')).toEqual([3, 2]));
  lines.show([job(2n, 2)]);
  lines.show([job(3n, 1)]);
  expect(lines.valuesOf('a')).toEqual([3, 2, 1]);
  expect(asked).toEqual([['a']]);
  lines.show([job(1n, 3)]);
  await vi.waitFor(() => expect(lines.valuesOf('a')).toEqual([3, 2]));
  expect(asked.length).toBe(2);
});

it('halves a line that has become too long', () => {
  const values = Array.from({ length: 97 }, (_, i) => i);
  expect(halved(values).slice(0, 2)).toEqual([0.5, 2.5]);
  expect(halved(values).at(-1)).toBe(96);
  expect(halved([1, 2])).toEqual([1, 2]);
});
