// The metrics of one job as a page sees them: history by Query, then live batches, without gap or duplicate. A chart asks
// Query for the buckets of what it shows; the answer's `seq` says which batches are in it, and the newer ones are applied
// from those that this page has kept.
import type { Client } from '@connectrpc/connect';
import { Store } from '../model/store';
import { XAxis, type ListSeriesResponse, type MetricService, type StreamMetricsResponse } from '../gen/ddp/v1/metric_pb';
import type { View } from './job_lines';
import type { Live } from './live';
import { Source } from './source';

type MetricClient = Pick<Client<typeof MetricService>, 'query' | 'listSeries'>;

// Batches kept for answers that are on their way: at 100 batches a second, ten seconds.
const KEPT = 1024;

export interface BatchReader {
  take(job: JobMetrics, batch: StreamMetricsResponse): void;
  lagged(): void;
}

export class JobMetrics {
  readonly jobId: string;
  // Names of series that live batches have brought.
  readonly newSeries = new Store<ReadonlySet<string>>(new Set());
  stepsPerEpoch = 0;
  #client: MetricClient;
  #live: Live;
  #readers = new Set<BatchReader>();
  #kept: StreamMetricsResponse[] = [];
  #seq: bigint | undefined; // of the newest batch; undefined: nothing has been asked yet
  #stop: (() => void) | undefined;
  #origin: Promise<number> | undefined;
  #list: Promise<ListSeriesResponse> | undefined; // on its way, for the first who wants it
  #awake: boolean;

  // `awake`: whether new points may come. Only then there is a stream, until the daemon says that it has sent all.
  constructor(client: MetricClient, live: Live, jobId: string, awake = true) {
    this.#client = client;
    this.#live = live;
    this.jobId = jobId;
    this.#awake = awake;
  }

  source(series: string[], view: View): Source {
    const ask = async (names: readonly string[], v: View) => [await this.#client.query(queryOf(this.jobId, names, v))];
    return new Source({ jobs: [this], series, ask, keyOf: (_, name) => name }, view);
  }

  // Asks for the list of series before anybody can show it: that saves a page the way there and back.
  listEarly(): void {
    this.#list = this.#client.listSeries({ jobId: this.jobId });
    this.#list.catch(() => {}); // whoever takes it hears of it
  }

  list(): Promise<ListSeriesResponse> {
    const list = this.#list ?? this.#client.listSeries({ jobId: this.jobId });
    this.#list = undefined;
    return list;
  }

  addReader(reader: BatchReader): void {
    this.#readers.add(reader);
  }

  dropReader(reader: BatchReader): void {
    this.#readers.delete(reader);
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.#awake = false;
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

  // Follows the job from an answer on, if it is not followed yet, and says which batches are newer than the answer; undefined
  // when some of them are no longer there.
  followFrom(seq: bigint): readonly StreamMetricsResponse[] | undefined {
    if (this.#seq === undefined || (this.#stop === undefined && seq > this.#seq)) {
      this.#seq = seq;
      this.#kept = [];
    }
    this.#follow();
    if (this.#seq <= seq) return [];
    const first = this.#kept[0];
    if (first === undefined || first.seq > seq + 1n) return undefined;
    return this.#kept.filter((batch) => batch.seq > seq);
  }

  // After the job has left an end state, and with it the stream that had ended.
  wake(): void {
    this.#awake = true;
    this.#follow();
  }

  #follow(): void {
    if (this.#seq === undefined || this.#stop || !this.#awake) return;
    this.#stop = this.#live.add({
      topic: () => ({ topic: { case: 'metrics', value: { jobId: this.jobId, afterSeq: this.#seq } } }),
      update: (message) => message.update.case === 'metrics' && this.#take(message.update.value),
      ended: () => {
        this.#stop = undefined;
        this.#awake = false;
      },
    });
  }

  #take(batch: StreamMetricsResponse): void {
    this.#seq = batch.seq;
    if (batch.laggedFrom > 0n) {
      this.#kept = [];
      for (const reader of [...this.#readers]) reader.lagged();
      return;
    }
    this.#kept.push(batch);
    if (this.#kept.length > KEPT) this.#kept.shift();
    const names = batch.columns.map((c) => c.series).filter((name) => !this.newSeries.value.has(name));
    if (names.length > 0) this.newSeries.set(new Set([...this.newSeries.value, ...names]));
    for (const reader of [...this.#readers]) reader.take(this, batch);
  }
}

export function queryOf(jobId: string, series: readonly string[], view: View) {
  return { jobId, series: [...series], maxBuckets: view.buckets, xAxis: view.axis, fromX: view.fromX, toX: view.toX };
}
