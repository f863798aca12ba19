import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, createRouterTransport } from '@connectrpc/connect';
import { describe, expect, it, vi } from 'vitest';
import { FollowResponseSchema, LiveService, type FollowRequest } from '../gen/ddp/v1/live_pb';
import { makeClients } from './clients';
import { Live, type Subscription } from './live';

// A daemon whose streams are what `answer` yields; requests are kept.
function daemon(answer: (request: FollowRequest, call: number) => AsyncIterable<ReturnType<typeof metrics>>) {
  const requests: FollowRequest[] = [];
  const transport = createRouterTransport(({ service }) => {
    service(LiveService, {
      follow(request) {
        requests.push(request);
        return answer(request, requests.length);
      },
    });
  });
  const live = new Live({ follow: (r, o) => makeClients(transport).live.follow(r, o), now: () => 1000, delay: async () => {} });
  return { live, requests };
}

function metrics(topic: number, seq: bigint) {
  return create(FollowResponseSchema, { topic, update: { case: 'metrics', value: { seq } } });
}
function end(topic: number, code: number) {
  return create(FollowResponseSchema, { topic, update: { case: 'end', value: { code, message: 'why' } } });
}
const forever = () => new Promise<never>(() => {});

// Follows one job's metrics and remembers what came.
function follower() {
  const seen: bigint[] = [];
  const ends: number[] = [];
  const subscription: Subscription = {
    topic: () => ({ topic: { case: 'metrics', value: { jobId: 'j', afterSeq: seen.at(-1) ?? 0n } } }),
    update: (m) => m.update.case === 'metrics' && seen.push(m.update.value.seq),
    ended: (code) => ends.push(code),
  };
  return { seen, ends, subscription };
}
const token = (request: FollowRequest, i = 0) => {
  const topic = request.topics[i]!.topic;
  return topic.case === 'metrics' ? topic.value.afterSeq : undefined;
};

describe('Live', () => {
  it('goes on after a broken stream from the last number, without a repetition', async () => {
    const { live, requests } = daemon(async function* (request, call) {
      const from = token(request)!;
      yield metrics(0, from + 1n);
      yield metrics(0, from + 2n);
      if (call < 3) throw new ConnectError('gone', Code.Unavailable);
      await forever();
    });
    const { seen, subscription } = follower();
    live.add(subscription);
    await vi.waitFor(() => expect(seen).toEqual([1n, 2n, 3n, 4n, 5n, 6n]));
    expect(requests.map((r) => token(r))).toEqual([0n, 2n, 4n]);
    expect(live.status.value.kind).toBe('live');
  });

  it('says since when it is stale, and keeps the first time', async () => {
    const { live, requests } = daemon(async function* (_, call) {
      if (call === 1) yield metrics(0, 1n);
      if (call > 4) await forever();
      throw new ConnectError('no daemon', Code.Unavailable);
    });
    live.add(follower().subscription);
    await vi.waitFor(() => expect(requests.length).toBe(5));
    expect(live.status.value).toEqual({ kind: 'stale', since: 1000, reason: 'no daemon' });
  });

  it('asks for all topics on one stream, and again with tokens when they change', async () => {
    const { live, requests } = daemon(async function* (request) {
      for (let i = 0; i < request.topics.length; ++i) yield metrics(i, (token(request, i) ?? 0n) + 1n);
      await forever();
    });
    const [a, b] = [follower(), follower()];
    live.add(a.subscription);
    live.add(b.subscription);
    await vi.waitFor(() => expect([a.seen, b.seen]).toEqual([[1n], [1n]]));
    const c = follower();
    live.add(c.subscription);
    await vi.waitFor(() => expect([a.seen, b.seen, c.seen]).toEqual([[1n, 2n], [1n, 2n], [1n]]));
    expect(requests.map((r) => r.topics.length)).toEqual([2, 3]);
  });

  it('drops a topic that has ended and rests when none is left', async () => {
    const { live, requests } = daemon(async function* () {
      yield end(0, 0);
    });
    const { ends, subscription } = follower();
    live.add(subscription);
    await vi.waitFor(() => expect(ends).toEqual([0]));
    await vi.waitFor(() => expect(live.status.value.kind).toBe('idle'));
    expect(requests.length).toBe(1);
  });

  it('hands on why a topic failed', async () => {
    const { live } = daemon(async function* () {
      yield end(0, Code.NotFound);
    });
    const { ends, subscription } = follower();
    live.add(subscription);
    await vi.waitFor(() => expect(ends).toEqual([Code.NotFound]));
  });

  it('stops at a refused token', async () => {
    const { live, requests } = daemon(async function* () {
      throw new ConnectError('wrong token', Code.Unauthenticated);
    });
    live.add(follower().subscription);
    await vi.waitFor(() => expect(live.status.value.kind).toBe('refused'));
    expect(requests.length).toBe(1);
  });

  it('closes its stream while the tab is hidden and goes on when it is shown', async () => {
    const { live, requests } = daemon(async function* (request) {
      yield metrics(0, token(request)! + 1n);
      await forever();
    });
    const { seen, subscription } = follower();
    live.add(subscription);
    await vi.waitFor(() => expect(seen).toEqual([1n]));
    live.setVisible(false);
    await vi.waitFor(() => expect(live.status.value.kind).toBe('hidden'));
    live.setVisible(true);
    await vi.waitFor(() => expect(seen).toEqual([1n, 2n]));
    expect(requests.map((r) => token(r))).toEqual([0n, 1n]);
  });
});
