// What a job has written with its steps and no stream carries: histograms, texts. Asked for once, and the newest part again
// when the job has gone on.
import { Store } from '../model/store';
import { errorText } from './errors';

// A job that makes a thousand steps a second has not so many things to show.
const AGAIN_MS = 1000;
const RETRY_MS = 2000;

export interface TailState<T> {
  items: readonly T[] | undefined; // undefined: no answer yet
  error: string;
}

export class Tail<T extends { step: bigint }> {
  readonly state = new Store<TailState<T>>({ items: undefined, error: '' });
  #ask: (fromStep: bigint) => Promise<readonly T[]>;
  #most: number;
  #attempt: number | undefined;
  #whole = true; // what is shown must be asked for from the beginning
  #busy = false;
  #again = false;
  #closed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  // `ask` answers with everything from a step on. More than `most` items are asked for anew: the daemon thins them out.
  constructor(ask: (fromStep: bigint) => Promise<readonly T[]>, most = Infinity) {
    this.#ask = ask;
    this.#most = most;
  }

  // The job has gone on. Another attempt supersedes steps of the one before.
  moved(attempt: number): void {
    if (attempt !== this.#attempt) this.#whole = true;
    this.#attempt = attempt;
    if (this.#busy || this.#timer !== undefined) {
      this.#again = true;
      return;
    }
    void this.#fetch();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #fetch(): Promise<void> {
    this.#busy = true;
    this.#again = false;
    let wait = AGAIN_MS;
    const before = this.state.value.items;
    const attempt = this.#attempt;
    const whole = before === undefined || this.#whole || before.length > this.#most;
    const from = whole ? 0n : before.reduce((newest, item) => (item.step > newest ? item.step : newest), 0n);
    try {
      const answer = await this.#ask(from);
      if (this.#closed) return;
      // The newest item is in the answer, or an attempt has superseded it: then only the daemon knows what is left.
      const superseded = attempt !== this.#attempt || (!whole && before.length > 0 && !answer.some((item) => item.step === from));
      if (superseded) {
        this.#whole = true;
        this.#again = true;
        wait = 0;
      } else {
        this.#whole = false;
        this.#take(whole ? answer : [...before.filter((item) => item.step < from), ...answer], before);
      }
    } catch (error) {
      if (this.#closed) return;
      this.state.set({ ...this.state.value, error: errorText(error) });
      this.#again = true;
      wait = RETRY_MS;
    }
    this.#busy = false;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#again) void this.#fetch();
    }, wait);
  }

  // The same as before is no change: nothing is drawn again.
  #take(items: readonly T[], before: readonly T[] | undefined): void {
    const same = before !== undefined && items.length === before.length && items.at(-1)?.step === before.at(-1)?.step;
    this.state.set({ items: same ? before : items, error: '' });
  }
}
