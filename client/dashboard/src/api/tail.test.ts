import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Tail } from './tail';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

// What a daemon holds, by step; `asked` keeps from where it was asked.
function daemon(...steps: bigint[]) {
  const held = { steps, asked: [] as bigint[], fails: false };
  const ask = async (from: bigint) => {
    held.asked.push(from);
    if (held.fails) throw new Error('away');
    return held.steps.filter((step) => step >= from).map((step) => ({ step }));
  };
  return { held, ask };
}
const stepsOf = (tail: Tail<{ step: bigint }>) => tail.state.value.items?.map((item) => item.step);

it('asks for everything, then only for what is new, once a second at most', async () => {
  const { held, ask } = daemon(1n, 5n);
  const tail = new Tail(ask);
  tail.moved(1);
  await vi.advanceTimersByTimeAsync(0);
  expect(stepsOf(tail)).toEqual([1n, 5n]);
  held.steps.push(9n);
  for (let i = 0; i < 20; ++i) tail.moved(1);
  await vi.advanceTimersByTimeAsync(999);
  expect(held.asked).toEqual([0n]);
  await vi.advanceTimersByTimeAsync(1);
  expect(stepsOf(tail)).toEqual([1n, 5n, 9n]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(held.asked).toEqual([0n, 5n]); // a job that stands still is not asked about
});

it('keeps the same array when nothing is new', async () => {
  const { ask } = daemon(3n);
  const tail = new Tail(ask);
  tail.moved(1);
  await vi.advanceTimersByTimeAsync(1000);
  const before = tail.state.value.items;
  tail.moved(1);
  await vi.advanceTimersByTimeAsync(0);
  expect(tail.state.value.items).toBe(before);
});

it('asks for everything again when an attempt supersedes the newest', async () => {
  const { held, ask } = daemon(10n, 20n, 30n);
  const tail = new Tail(ask);
  tail.moved(1);
  await vi.advanceTimersByTimeAsync(1000);
  tail.moved(2); // has begun, and has no points yet
  await vi.advanceTimersByTimeAsync(1000);
  expect(stepsOf(tail)).toEqual([10n, 20n, 30n]);
  held.steps = [10n, 15n];
  tail.moved(2);
  await vi.advanceTimersByTimeAsync(1000);
  expect(stepsOf(tail)).toEqual([10n, 15n]);
  expect(held.asked).toEqual([0n, 0n, 30n, 0n]);
});

it('says that the daemon is away, and tries again', async () => {
  const { held, ask } = daemon(1n);
  held.fails = true;
  const tail = new Tail(ask);
  tail.moved(1);
  await vi.advanceTimersByTimeAsync(0);
  expect(tail.state.value.error).toBe('away');
  held.fails = false;
  await vi.advanceTimersByTimeAsync(2000);
  expect(tail.state.value).toEqual({ items: [{ step: 1n }], error: '' });
});

it('has too many items thinned out by the daemon', async () => {
  const { held, ask } = daemon(1n, 2n, 3n);
  const tail = new Tail(ask, 2);
  tail.moved(1);
  await vi.advanceTimersByTimeAsync(1000);
  tail.moved(1);
  await vi.advanceTimersByTimeAsync(0);
  expect(held.asked).toEqual([0n, 0n]);
});
