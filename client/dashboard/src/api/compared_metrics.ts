// The metrics of several jobs, each chart one series of all of them: one call for its history, live batches after it.
import type { Client } from '@connectrpc/connect';
import { XAxis, type MetricService } from '../gen/ddp/v1/metric_pb';
import { Store } from '../model/store';
import { JobMetrics, queryOf } from './job_metrics';
import type { View } from './job_lines';
import type { Live } from './live';
import { Source } from './source';

// The daemon follows at most 64 topics on one stream; the list of jobs is one of them.
export const MOST_FOLLOWED = 60;
// The newest values in a table: more often than this nobody reads them.
const NEWEST_MS = 250;

type MetricClient = Pick<Client<typeof MetricService>, 'query' | 'listSeries' | 'queryJobs'>;

export class ComparedMetrics {
  // Counts changes of newest values and of names of series.
  readonly version = new Store(0);
  readonly jobs: ReadonlyMap<string, JobMetrics>;
  #client: MetricClient;
  #newest = new Map<string, Map<string, number>>(); // of live batches, by job and series
  #later: ReturnType<typeof setTimeout> | undefined;

  constructor(client: MetricClient, live: Live, ids: readonly string[], awake: ReadonlySet<string>) {
    this.#client = client;
    const followed = new Set(ids.filter((id) => awake.has(id)).slice(0, MOST_FOLLOWED));
    this.jobs = new Map(ids.map((id) => [id, new JobMetrics(client, live, id, followed.has(id))]));
    for (const job of this.jobs.values()) job.addReader({ take: (_, batch) => this.#keep(job.jobId, batch.columns), lagged: () => {} });
    if (ids.length === 0) return;
    // Jobs without any series have no chart to begin their streams with.
    const first = this.source('loss', { axis: XAxis.STEP, buckets: 1 });
    const stop = first.data.subscribe(() => {
      if (first.data.value.loading || first.data.value.error !== '') return;
      stop();
      first.close();
    });
  }

  // Its lines are called by the ids of the jobs.
  source(series: string, view: View): Source {
    const jobs = [...this.jobs.values()];
    const ask = async (names: readonly string[], v: View) => {
      const { jobId: _, ...query } = queryOf('', names, v);
      return (await this.#client.queryJobs({ jobIds: jobs.map((job) => job.jobId), query })).jobs;
    };
    return new Source({ jobs, series: [series], ask, keyOf: (job) => job.jobId }, view);
  }

  newest(id: string, series: string): number | undefined {
    return this.#newest.get(id)?.get(series);
  }

  newSeries(): string[] {
    return [...this.#newest.values()].flatMap((values) => [...values.keys()]);
  }

  close(): void {
    clearTimeout(this.#later);
    for (const job of this.jobs.values()) job.close();
  }

  #keep(id: string, columns: readonly { series: string; value: number[] }[]): void {
    const values = this.#newest.get(id) ?? new Map<string, number>();
    this.#newest.set(id, values);
    for (const { series, value } of columns) if (value.length > 0) values.set(series, value.at(-1)!);
    this.#later ??= setTimeout(() => {
      this.#later = undefined;
      this.version.set(this.version.value + 1);
    }, NEWEST_MS);
  }
}
