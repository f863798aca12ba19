// The lines of one chart, of one job or of several: asked for, then grown by the live batches of those jobs.
import { Code, ConnectError } from '@connectrpc/connect';
import type { Line } from '../model/line';
import { Store } from '../model/store';
import { XAxis, type QueryMetricsResponse, type StreamMetricsResponse } from '../gen/ddp/v1/metric_pb';
import { lessMotion } from '../ui/motion';
import { errorText } from './errors';
import { JobLines, type View } from './job_lines';
import type { JobMetrics } from './job_metrics';

const REFETCH_MS = 2000;
// Live points wait so long for each other, those of several jobs longer: there is more to draw. Somebody who wants less
// motion gets them once a second.
const REDRAW_MS = 30;
const MANY_REDRAW_MS = 100;
const CALM_REDRAW_MS = 1000;

export interface SourceData {
  lines: Map<string, Line>;
  version: number; // the arrays grow in place: what has changed is told by this
  loading: boolean;
  error: string;
}

export interface SourceParts {
  jobs: readonly JobMetrics[];
  series: readonly string[];
  // An answer for each job, in their order.
  ask(series: readonly string[], view: View): Promise<readonly QueryMetricsResponse[]>;
  // What a line is called among all that are drawn.
  keyOf(job: JobMetrics, series: string): string;
}

export class Source {
  readonly data = new Store<SourceData>({ lines: new Map(), version: 0, loading: true, error: '' });
  #parts: SourceParts;
  #view: View;
  #lines: Map<JobMetrics, JobLines>;
  #asked = 0;
  #answeredAt = 0;
  #later: ReturnType<typeof setTimeout> | undefined;
  #drawing: ReturnType<typeof setTimeout> | undefined;

  constructor(parts: SourceParts, view: View) {
    this.#parts = parts;
    this.#view = view;
    this.#lines = new Map(parts.jobs.map((job) => [job, new JobLines(parts.series)]));
    for (const job of parts.jobs) job.addReader(this);
    void this.fetch();
  }

  close(): void {
    ++this.#asked;
    clearTimeout(this.#later);
    clearTimeout(this.#drawing);
    for (const job of this.#parts.jobs) job.dropReader(this);
  }

  setView(view: View): void {
    const { axis, buckets, fromX, toX } = this.#view;
    if (view.axis === axis && view.buckets === buckets && view.fromX === fromX && view.toX === toX) return;
    if (view.axis !== axis) this.#publish({ lines: new Map() });
    this.#view = view;
    void this.fetch();
  }

  async fetch(): Promise<void> {
    const asked = ++this.#asked;
    clearTimeout(this.#later);
    this.#later = undefined;
    this.#publish({ loading: true });
    const { jobs, series } = this.#parts;
    try {
      const view = this.#view;
      const origins = await Promise.all(jobs.map((job) => (view.axis === XAxis.RELATIVE_TIME ? job.origin() : 0)));
      const answers = await this.#parts.ask(series, view);
      if (asked !== this.#asked) return;
      const newer = jobs.map((job, i) => job.followFrom(answers[i]!.seq));
      if (newer.includes(undefined)) return void this.fetch();
      this.#answeredAt = Date.now();
      jobs.forEach((job, i) => {
        this.#lines.get(job)!.answer(answers[i]!, view, { axis: view.axis, stepsPerEpoch: job.stepsPerEpoch, origin: origins[i]! });
      });
      this.#publish({ lines: this.#all(), loading: false, error: '' });
      jobs.forEach((job, i) => newer[i]!.forEach((batch) => this.take(job, batch)));
    } catch (error) {
      if (asked !== this.#asked) return;
      this.#publish({ loading: false, error: errorText(error) });
      // A daemon that is away: the stream comes back by itself, and so does this.
      if (ConnectError.from(error).code !== Code.FailedPrecondition) this.#later = setTimeout(() => void this.fetch(), REFETCH_MS);
    }
  }

  take(job: JobMetrics, batch: StreamMetricsResponse): void {
    const { changed, stale } = this.#lines.get(job)!.take(batch);
    if (stale) this.#refetchSoon();
    if (changed) this.#redraw();
  }

  // After batches that nobody has: the daemon has their points.
  lagged(): void {
    void this.fetch();
  }

  #all(): Map<string, Line> {
    const { keyOf } = this.#parts;
    return new Map([...this.#lines].flatMap(([job, part]) => [...part.lines].map(([series, line]) => [keyOf(job, series), line] as const)));
  }

  // Many batches between two frames are one redraw.
  #redraw(): void {
    const wait = lessMotion() ? CALM_REDRAW_MS : this.#parts.jobs.length > 1 ? MANY_REDRAW_MS : REDRAW_MS;
    this.#drawing ??= setTimeout(() => {
      this.#drawing = undefined;
      this.#publish({ lines: this.#all() });
    }, wait);
  }

  #refetchSoon(): void {
    this.#later ??= setTimeout(() => void this.fetch(), Math.max(0, this.#answeredAt + REFETCH_MS - Date.now()));
  }

  #publish(change: Partial<SourceData>): void {
    const now = this.data.value;
    this.data.set({ ...now, ...change, version: now.version + 1 });
  }
}
