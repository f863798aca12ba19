// The newest log lines of a job, live. A stream that comes back begins with the last lines again, so what is shown is
// replaced, never added to twice.
import type { LogLine } from '../gen/ddp/v1/log_pb';
import { Store } from '../model/store';
import type { Live } from './live';

export const LOG_LINES = 2000;

export interface ShownLine {
  id: number;
  attempt: number;
  rank: number;
  text: string;
}

const decoder = new TextDecoder();
// Colours and other orders for terminals, and what has no picture.
const CONTROL = /\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f]/g;

export function logText(bytes: Uint8Array): string {
  return decoder.decode(bytes).replace(CONTROL, '');
}

export class LogLines {
  readonly lines = new Store<readonly ShownLine[]>([]);
  readonly error = new Store('');
  readonly over = new Store(false);
  close: () => void;
  #last = 0;

  constructor(live: Live, jobId: string, rank: number, attempt: number) {
    let begin = true;
    this.close = live.add({
      topic: () => {
        begin = true;
        return { topic: { case: 'logs', value: { jobId, rank, attempt, tail: rank < 0 ? 500 : LOG_LINES } } };
      },
      update: ({ update }) => {
        if (update.case !== 'logs') return;
        this.#add(update.value.lines, begin);
        begin = false;
      },
      ended: (code, message) => {
        this.over.set(true);
        if (code !== 0) this.error.set(message);
      },
    });
  }

  #add(lines: readonly LogLine[], begin: boolean): void {
    const before = begin ? [] : this.lines.value;
    const shown = lines.map((line) => ({ id: ++this.#last, attempt: line.attempt, rank: line.rank, text: logText(line.text) }));
    this.lines.set([...before, ...shown].slice(-LOG_LINES));
  }
}
