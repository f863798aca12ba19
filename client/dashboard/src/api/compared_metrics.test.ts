import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { createRouterTransport } from '@connectrpc/connect';
import { expect, it, vi } from 'vitest';
import { FollowResponseSchema, LiveService, type FollowRequest } from '../gen/ddp/v1/live_pb';
import { MetricService, XAxis, type StreamMetricsResponseSchema } from '../gen/ddp/v1/metric_pb';
import { makeClients } from './clients';
import { ComparedMetrics } from './compared_metrics';
import { Live } from './live';

type Batch = MessageInitShape<typeof StreamMetricsResponseSchema>;

// A daemon with jobs of one stored point each (step 1, value 1; batch 1). Live batches are pushed by the test, by job.
function daemon() {
  const calls: string[][] = [];
  const follows: FollowRequest[] = [];
  const waiting: { id: string; batch: Batch }[] = [];
  let wake = () => {};
  const transport = createRouterTransport(({ service }) => {
    service(MetricService, {
      queryJobs(request) {
        calls.push(request.jobIds);
        const point = { firstStep: 1n, lastStep: 1n, firstX: 1, lastX: 1, min: 1, max: 1, mean: 1, last: 1, count: 1n };
        return { jobs: request.jobIds.map(() => ({ seq: 1n, buckets: [{ series: 'loss', buckets: [point] }] })) };
      },
    });
    service(LiveService, {
      async *follow(request) {
        follows.push(request);
        const ids = request.topics.map((t) => (t.topic.case === 'metrics' ? t.topic.value.jobId : ''));
        for (;;) {
          for (const { id, batch } of waiting.splice(0)) {
            yield create(FollowResponseSchema, { topic: ids.indexOf(id), update: { case: 'metrics', value: batch } });
          }
          await new Promise<void>((resolve) => (wake = resolve));
        }
      },
    });
  });
  const clients = makeClients(transport);
  const live = new Live({ follow: (r, o) => clients.live.follow(r, o) });
  const push = (id: string, batch: Batch) => (waiting.push({ id, batch }), wake());
  return { calls, follows, push, clients, live };
}
const batch = (n: number, series = 'loss'): Batch => ({ seq: BigInt(n), attempt: 1, columns: [{ series, step: [BigInt(n)], time: [n], value: [n] }] });
const view = { axis: XAxis.STEP, buckets: 100 };

it('asks once for all jobs and follows those that run, all on one stream', async () => {
  const { calls, follows, push, clients, live } = daemon();
  const compared = new ComparedMetrics(clients.metrics, live, ['a', 'b', 'c'], new Set(['a', 'c']));
  const source = compared.source('loss', view);
  await vi.waitFor(() => expect(follows.length).toBe(1));
  expect(calls.every((ids) => ids.join() === 'a,b,c')).toBe(true);
  expect(follows[0]!.topics.map((t) => t.topic.value)).toMatchObject([{ jobId: 'a', afterSeq: 1n }, { jobId: 'c', afterSeq: 1n }]);
  push('c', batch(2));
  push('a', batch(2));
  push('c', batch(3));
  const drawn = (id: string) => source.data.value.lines.get(id)?.last;
  await vi.waitFor(() => expect(['a', 'b', 'c'].map(drawn)).toEqual([[1, 2], [1], [1, 2, 3]]));
  expect(calls.length).toBe(2); // the chart's, and the one that begins the streams
  compared.close();
});

it('knows newest values and new series of every job', async () => {
  const { follows, push, clients, live } = daemon();
  const compared = new ComparedMetrics(clients.metrics, live, ['a', 'b'], new Set(['a', 'b']));
  await vi.waitFor(() => expect(follows.length).toBe(1));
  push('a', batch(2, 'acc'));
  push('b', batch(2));
  push('a', batch(3, 'acc'));
  await vi.waitFor(() => expect(compared.version.value).toBeGreaterThan(0));
  expect([compared.newest('a', 'acc'), compared.newest('b', 'loss'), compared.newest('b', 'acc')]).toEqual([3, 2, undefined]);
  expect(compared.newSeries()).toEqual(['acc', 'loss']);
  compared.close();
});

it('follows a job from what is stored when it is resumed', async () => {
  const { follows, push, clients, live } = daemon();
  const compared = new ComparedMetrics(clients.metrics, live, ['a'], new Set());
  const source = compared.source('loss', view);
  await vi.waitFor(() => expect(source.data.value.loading).toBe(false));
  expect(follows.length).toBe(0);
  compared.jobs.get('a')!.wake();
  await vi.waitFor(() => expect(follows.length).toBe(1));
  push('a', batch(2));
  await vi.waitFor(() => expect(source.data.value.lines.get('a')?.last).toEqual([1, 2]));
  compared.close();
});
