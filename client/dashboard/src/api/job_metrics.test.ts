import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { createRouterTransport } from '@connectrpc/connect';
import { describe, expect, it, vi } from 'vitest';
import { FollowResponseSchema, LiveService } from '../gen/ddp/v1/live_pb';
import { MetricService, XAxis, type StreamMetricsResponseSchema } from '../gen/ddp/v1/metric_pb';
import { makeClients } from './clients';
import { JobMetrics } from './job_metrics';
import { Live } from './live';

type Batch = MessageInitShape<typeof StreamMetricsResponseSchema>;

// A daemon that holds loss = 10 * step at steps 1.. of a job: batch n is step n. Live batches are pushed by the test.
function daemon() {
  const state = { stored: 0, queries: 0 };
  const waiting: Batch[] = [];
  let wake = () => {};
  const transport = createRouterTransport(({ service }) => {
    service(MetricService, {
      query(request) {
        state.queries++;
        const steps = Array.from({ length: state.stored }, (_, i) => i + 1);
        const from = request.fromX ?? -Infinity;
        const buckets = steps
          .filter((s) => s >= from)
          .map((s) => ({ firstStep: BigInt(s), lastStep: BigInt(s), firstX: s, lastX: s, min: 10 * s, max: 10 * s, mean: 10 * s, last: 10 * s, count: 1n }));
        return { buckets: [{ series: 'loss', buckets }], seq: BigInt(state.stored) };
      },
    });
    service(LiveService, {
      async *follow() {
        for (;;) {
          for (const value of waiting.splice(0)) yield create(FollowResponseSchema, { topic: 0, update: { case: 'metrics', value } });
          await new Promise<void>((resolve) => (wake = resolve));
        }
      },
    });
  });
  const clients = makeClients(transport);
  const live = new Live({ follow: (r, o) => clients.live.follow(r, o) });
  const push = (batch: Batch) => (waiting.push(batch), wake());
  return { state, push, job: new JobMetrics(clients.metrics, live, 'j') };
}
const batch = (n: number, attempt = 1, start = 0, step = n): Batch => ({
  seq: BigInt(n),
  attempt,
  attemptStartStep: BigInt(start),
  columns: [{ series: 'loss', step: [BigInt(step)], time: [step], value: [10 * step] }],
});
const view = { axis: XAxis.STEP, buckets: 100 };

describe('JobMetrics', () => {
  it('joins history and live batches without gap or duplicate', async () => {
    const { state, push, job } = daemon();
    state.stored = 3;
    const source = job.source(['loss'], view);
    await vi.waitFor(() => expect(source.data.value.lines.get('loss')?.x).toEqual([1, 2, 3]));
    for (const n of [3, 4, 5]) push(batch(n)); // 3 is in the answer already
    await vi.waitFor(() => expect(source.data.value.lines.get('loss')?.last).toEqual([10, 20, 30, 40, 50]));
    job.close();
  });

  it('gives a chart that comes later what the stream has brought meanwhile', async () => {
    const { state, push, job } = daemon();
    state.stored = 1;
    const first = job.source(['loss'], view);
    await vi.waitFor(() => expect(first.data.value.loading).toBe(false));
    push(batch(2));
    push(batch(3));
    await vi.waitFor(() => expect(first.data.value.lines.get('loss')?.x).toEqual([1, 2, 3]));
    const second = job.source(['loss'], view); // answered from what is stored: batch 1
    await vi.waitFor(() => expect(second.data.value.lines.get('loss')?.x).toEqual([1, 2, 3]));
    job.close();
  });

  it('asks again after a lagged range and for a zoomed range', async () => {
    const { state, push, job } = daemon();
    state.stored = 2;
    const source = job.source(['loss'], view);
    await vi.waitFor(() => expect(source.data.value.loading).toBe(false));
    state.stored = 6;
    push({ seq: 6n, laggedFrom: 3n });
    await vi.waitFor(() => expect(source.data.value.lines.get('loss')?.x).toEqual([1, 2, 3, 4, 5, 6]));
    source.setView({ ...view, fromX: 4, toX: 6 });
    await vi.waitFor(() => expect(source.data.value.lines.get('loss')?.x).toEqual([4, 5, 6]));
    push(batch(7)); // outside
    expect(state.queries).toBe(3);
    expect(source.data.value.lines.get('loss')?.x).toEqual([4, 5, 6]);
    job.close();
  });

  it('cuts what a resumed attempt supersedes', async () => {
    const { state, push, job } = daemon();
    state.stored = 0;
    const source = job.source(['loss'], view);
    await vi.waitFor(() => expect(source.data.value.loading).toBe(false));
    for (const n of [1, 2, 3, 4]) push(batch(n));
    push(batch(5, 2, 2, 3));
    await vi.waitFor(() => expect(source.data.value.lines.get('loss')?.x).toEqual([1, 2, 3]));
    job.close();
  });
});
