// The one stream of a page. Everything that a page follows is a topic of it; when the topics change, a new stream goes on
// from the resume tokens of the old one. It comes back by itself after the daemon was away, and rests while nobody looks.
import { Code, ConnectError } from '@connectrpc/connect';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { Store } from '../model/store';
import type { FollowRequestSchema, FollowResponse, TopicSchema } from '../gen/ddp/v1/live_pb';

export type TopicInit = MessageInitShape<typeof TopicSchema>;

export interface Subscription {
  // What to ask for, with the newest resume token: called for each new stream.
  topic(): TopicInit;
  update(message: FollowResponse): void;
  // The topic is over: code OK when all has been sent; otherwise why (no such job, ...).
  ended?(code: Code | 0, message: string): void;
}

export type LiveStatus =
  | { kind: 'idle' } // nothing to follow
  | { kind: 'connecting' }
  | { kind: 'live' }
  | { kind: 'stale'; since: number; reason: string } // tries again
  | { kind: 'hidden' } // the tab is in the background
  | { kind: 'refused' }; // the token

export interface LiveParts {
  follow(request: MessageInitShape<typeof FollowRequestSchema>, options: { signal: AbortSignal }): AsyncIterable<FollowResponse>;
  now?: () => number;
  // Resolves after so many milliseconds, or when the signal is aborted.
  delay?: (ms: number, signal: AbortSignal) => Promise<void>;
}

// The daemon sends at least a keep-alive every 10 s.
const SILENCE_MS = 25_000;
const BACKOFF_MS = [250, 500, 1000, 2000, 4000];
// A page mounts many topics at once: one new stream for all of them.
const GATHER_MS = 20;

// What the daemon says about a topic that another stream may heal.
const PASSING = new Set<number>([Code.Unavailable, Code.Aborted, Code.ResourceExhausted, Code.Internal, Code.Unknown, Code.DeadlineExceeded]);

function browserDelay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}

export class Live {
  readonly status = new Store<LiveStatus>({ kind: 'idle' });
  #parts: LiveParts;
  #topics = new Set<Subscription>();
  #abort = new AbortController();
  #gathering = false;
  #visible = true;

  constructor(parts: LiveParts) {
    this.#parts = parts;
  }

  // Follows until the returned function is called.
  add(subscription: Subscription): () => void {
    this.#topics.add(subscription);
    this.restart();
    return () => {
      if (this.#topics.delete(subscription)) this.restart();
    };
  }

  setVisible(visible: boolean): void {
    if (visible === this.#visible) return;
    this.#visible = visible;
    this.restart();
  }

  // A new stream for the topics as they are in a moment.
  restart(): void {
    if (this.#gathering) return;
    this.#gathering = true;
    setTimeout(() => {
      this.#gathering = false;
      this.#abort.abort();
      this.#abort = new AbortController();
      void this.#run(this.#abort.signal);
    }, GATHER_MS);
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      if (!this.#visible) return this.status.set({ kind: 'hidden' });
      if (this.#topics.size === 0) return this.status.set({ kind: 'idle' });
      if (this.status.value.kind !== 'stale' && this.status.value.kind !== 'live') this.status.set({ kind: 'connecting' });
      let reason = 'The stream ended.';
      const progress = { any: false };
      try {
        await this.#stream(signal, progress);
        if (this.#topics.size === 0) continue;
      } catch (error) {
        if (signal.aborted) return;
        const e = ConnectError.from(error);
        if (e.code === Code.Unauthenticated) return this.status.set({ kind: 'refused' });
        reason = e.rawMessage;
      }
      if (signal.aborted) return;
      if (progress.any) failures = 0;
      if (this.status.value.kind !== 'stale') this.status.set({ kind: 'stale', since: this.#now(), reason });
      const wait = BACKOFF_MS[Math.min(failures++, BACKOFF_MS.length - 1)]!;
      await (this.#parts.delay ?? browserDelay)(wait * (0.75 + Math.random() / 2), signal);
    }
  }

  // Reads one stream to its end; throws when it breaks, or when nothing has come for too long.
  async #stream(page: AbortSignal, progress: { any: boolean }): Promise<void> {
    const own = new AbortController();
    const stop = () => own.abort();
    page.addEventListener('abort', stop, { once: true });
    let silence: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(stop, SILENCE_MS);
    };
    const open = [...this.#topics];
    try {
      heard();
      for await (const message of this.#parts.follow({ topics: open.map((s) => s.topic()) }, { signal: own.signal })) {
        if (page.aborted) return;
        heard();
        progress.any = true;
        if (this.status.value.kind !== 'live') this.status.set({ kind: 'live' });
        const subscription = open[message.topic];
        if (message.update.case === 'keepAlive' || subscription === undefined || !this.#topics.has(subscription)) continue;
        if (message.update.case !== 'end') {
          subscription.update(message);
          continue;
        }
        const { code, message: text } = message.update.value;
        if (code === Code.Unauthenticated) throw new ConnectError(text, Code.Unauthenticated);
        if (PASSING.has(code)) throw new ConnectError(text, code);
        this.#topics.delete(subscription);
        subscription.ended?.(code, text);
      }
    } finally {
      clearTimeout(silence);
      page.removeEventListener('abort', stop);
      own.abort();
    }
  }

  #now(): number {
    return (this.#parts.now ?? Date.now)();
  }
}
