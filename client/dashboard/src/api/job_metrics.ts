// The metrics of one job as a page sees them: history by Query, then live batches, without gap or duplicate. A chart asks
// Query for the buckets of what it shows; the answer's `seq` says which batches are in it, and the newer ones are applied
// from those that this page has kept.
import { Code, ConnectError, type Client } from '@connectrpc/connect';
import { Store } from '../model/store';
import { appendPoints, cutAfter, emptyLine, lineOfBuckets, type AxisFacts, type Line } from '../model/line';
import { XAxis, type MetricService, type StreamMetricsResponse } from '../gen/ddp/v1/metric_pb';
import { errorText } from './errors';
import type { Live } from './live';

type MetricClient = Pick<Client<typeof MetricService>, 'query' | 'listSeries'>;

// Batches kept for answers that are on their way: at 100 batches a second, ten seconds.
const KEPT = 1024;
const REFETCH_MS = 2000;

export interface View {
  axis: XAxis;
  buckets: number;
  fromX?: number;
  toX?: number;
}

export interface SourceData {
  lines: Map<string, Line>;
  version: number; // the arrays grow in place: what has changed is told by this
  loading: boolean;
  error: string;
}

export class JobMetrics {
  readonly jobId: string;
  // Names of series that live batches have brought.
  readonly newSeries = new Store<ReadonlySet<string>>(new Set());
  #client: MetricClient;
  #live: Live;
  #sources = new Set<Source>();
  #kept: StreamMetricsResponse[] = [];
  #seq: bigint | undefined; // of the newest batch; undefined: the stream has not been opened
  #stop: (() => void) | undefined;
  #origin: Promise<number> | undefined;
  stepsPerEpoch = 0;

  constructor(client: MetricClient, live: Live, jobId: string) {
    this.#client = client;
    this.#live = live;
    this.jobId = jobId;
  }

  source(series: string[], view: View): Source {
    const source = new Source(this, series, view);
    this.#sources.add(source);
    void source.fetch();
    return source;
  }

  drop(source: Source): void {
    this.#sources.delete(source);
  }

  close(): void {
    this.#stop?.();
    for (const source of this.#sources) source.close();
  }

  query(series: string[], view: View) {
    return this.#client.query({
      jobId: this.jobId,
      series,
      maxBuckets: view.buckets,
      xAxis: view.axis,
      fromX: view.fromX,
      toX: view.toX,
    });
  }

  // The time of the job's first point, in any series.
  origin(): Promise<number> {
    this.#origin ??= this.#client
      .query({ jobId: this.jobId, maxBuckets: 1, xAxis: XAxis.WALL_TIME })
      .then((answer) => Math.min(...answer.buckets.flatMap((c) => c.buckets.map((b) => b.firstX))))
      .then((origin) => {
        if (!Number.isFinite(origin)) this.#origin = undefined;
        return origin;
      });
    return this.#origin;
  }

  // The kept batches after `seq`; undefined when some of them are no longer there.
  batchesAfter(seq: bigint): StreamMetricsResponse[] | undefined {
    if (this.#seq === undefined || this.#seq <= seq) return [];
    const first = this.#kept[0];
    if (first === undefined || first.seq > seq + 1n) return undefined;
    return this.#kept.filter((batch) => batch.seq > seq);
  }

  // Follows the job from the first answer on; later answers are newer.
  followFrom(seq: bigint): void {
    if (this.#seq !== undefined) return;
    this.#seq = seq;
    this.followAgain();
  }

  // After the job has left an end state, and with it the stream that had ended.
  followAgain(): void {
    if (this.#seq === undefined || this.#stop) return;
    this.#stop = this.#live.add({
      topic: () => ({ topic: { case: 'metrics', value: { jobId: this.jobId, afterSeq: this.#seq } } }),
      update: (message) => message.update.case === 'metrics' && this.#take(message.update.value),
      ended: () => (this.#stop = undefined),
    });
  }

  #take(batch: StreamMetricsResponse): void {
    this.#seq = batch.seq;
    if (batch.laggedFrom > 0n) {
      this.#kept = [];
      for (const source of this.#sources) void source.fetch();
      return;
    }
    this.#kept.push(batch);
    if (this.#kept.length > KEPT) this.#kept.shift();
    const names = batch.columns.map((c) => c.series).filter((name) => !this.newSeries.value.has(name));
    if (names.length > 0) this.newSeries.set(new Set([...this.newSeries.value, ...names]));
    for (const source of this.#sources) source.take(batch);
  }
}

// The lines of one chart.
export class Source {
  readonly data = new Store<SourceData>({ lines: new Map(), version: 0, loading: true, error: '' });
  #job: JobMetrics;
  #series: string[];
  #view: View;
  #facts: AxisFacts = { axis: XAxis.STEP, stepsPerEpoch: 0, origin: 0 };
  #seq: bigint | undefined; // newest batch in the lines; undefined: no answer yet
  #attempt = 0; // of the newest batch; 0: not known
  #asked = 0;
  #answeredAt = 0;
  #later: ReturnType<typeof setTimeout> | undefined;
  #drawing = false;

  constructor(job: JobMetrics, series: string[], view: View) {
    this.#job = job;
    this.#series = series;
    this.#view = view;
  }

  close(): void {
    ++this.#asked;
    clearTimeout(this.#later);
    this.#job.drop(this);
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
    try {
      const view = this.#view;
      const origin = view.axis === XAxis.RELATIVE_TIME ? await this.#job.origin() : 0;
      const answer = await this.#job.query(this.#series, view);
      if (asked !== this.#asked) return;
      this.#job.followFrom(answer.seq);
      const newer = this.#job.batchesAfter(answer.seq);
      if (newer === undefined) return void this.fetch();
      this.#facts = { axis: view.axis, stepsPerEpoch: this.#job.stepsPerEpoch, origin };
      this.#seq = answer.seq;
      this.#answeredAt = Date.now();
      this.#publish({ lines: new Map(answer.buckets.map((c) => [c.series, lineOfBuckets(c)])), loading: false, error: '' });
      for (const batch of newer) this.take(batch);
    } catch (error) {
      if (asked !== this.#asked) return;
      this.#publish({ loading: false, error: errorText(error) });
      // A daemon that is away: the stream comes back by itself, and so does this.
      if (ConnectError.from(error).code !== Code.FailedPrecondition) this.#later = setTimeout(() => void this.fetch(), REFETCH_MS);
    }
  }

  take(batch: StreamMetricsResponse): void {
    if (this.#seq === undefined || batch.seq <= this.#seq) return;
    this.#seq = batch.seq;
    const { lines } = this.data.value;
    if (batch.attempt !== this.#attempt) {
      if (this.#attempt !== 0) {
        for (const line of lines.values()) if (cutAfter(line, Number(batch.attemptStartStep))) this.#refetchSoon();
      } else if (lines.size > 0) {
        // Whether the answer holds points that this attempt supersedes is the daemon's to say, once.
        this.#refetchSoon();
      }
      this.#attempt = batch.attempt;
      this.#redraw();
    }
    if (this.#facts.axis === XAxis.RELATIVE_TIME && !Number.isFinite(this.#facts.origin)) return this.#refetchSoon();
    let changed = false;
    for (const column of batch.columns) {
      if (!this.#series.includes(column.series)) continue;
      let line = lines.get(column.series);
      if (line === undefined) lines.set(column.series, (line = emptyLine()));
      appendPoints(line, column, this.#facts, this.#view.fromX, this.#view.toX);
      changed = true;
      // More points than there are pixels: coarser buckets say the same.
      if (line.x.length > 2 * this.#view.buckets + 64) this.#refetchSoon();
    }
    if (changed) this.#redraw();
  }

  // Many batches between two frames are one redraw.
  #redraw(): void {
    if (this.#drawing) return;
    this.#drawing = true;
    setTimeout(() => {
      this.#drawing = false;
      this.#publish({});
    }, 30);
  }

  #refetchSoon(): void {
    this.#later ??= setTimeout(() => void this.fetch(), Math.max(0, this.#answeredAt + REFETCH_MS - Date.now()));
  }

  #publish(change: Partial<SourceData>): void {
    const now = this.data.value;
    this.data.set({ ...now, ...change, version: now.version + 1 });
  }
}
