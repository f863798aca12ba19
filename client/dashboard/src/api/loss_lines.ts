// The loss of the jobs in the table: asked for once by QueryJobs, then grown by the progress that WatchAll sends.
import { XAxis, type MetricService } from '../gen/ddp/v1/metric_pb';
import type { Client } from '@connectrpc/connect';
import type { Job } from '../gen/ddp/v1/job_pb';
import { Store } from '../model/store';

const BUCKETS = 48;

interface LossLine {
  values: number[];
  step: bigint; // of the newest value
}

export class LossLines {
  readonly version = new Store(0);
  #client: Pick<Client<typeof MetricService>, 'queryJobs'>;
  #lines = new Map<string, LossLine>();
  #asking = new Set<string>();

  constructor(client: Pick<Client<typeof MetricService>, 'queryJobs'>) {
    this.#client = client;
  }

  valuesOf(id: string): readonly number[] {
    return this.#lines.get(id)?.values ?? [];
  }

  // Asks for jobs that are not known, and takes the progress of those that are.
  show(jobs: readonly Job[]): void {
    const unknown: string[] = [];
    let changed = false;
    for (const job of jobs) {
      const line = this.#lines.get(job.id);
      const step = job.progress?.step ?? 0n;
      if (line === undefined) {
        if (!this.#asking.has(job.id)) unknown.push(job.id);
      } else if (step > line.step) {
        line.values = halved([...line.values, job.progress!.loss]);
        line.step = step;
        changed = true;
      } else if (step < line.step) {
        // It went back to a checkpoint.
        this.#lines.delete(job.id);
        unknown.push(job.id);
      }
    }
    if (changed) this.version.set(this.version.value + 1);
    if (unknown.length > 0) void this.#ask(unknown);
  }

  async #ask(ids: string[]): Promise<void> {
    for (const id of ids) this.#asking.add(id);
    try {
      const answer = await this.#client.queryJobs({ jobIds: ids, query: { series: ['loss'], maxBuckets: BUCKETS, xAxis: XAxis.STEP } });
      answer.jobs.forEach((job, i) => {
        const buckets = job.buckets[0]?.buckets ?? [];
        this.#lines.set(ids[i]!, { values: buckets.map((b) => b.mean), step: buckets.at(-1)?.lastStep ?? 0n });
      });
      this.version.set(this.version.value + 1);
    } catch {
      // A table without small lines is still a table; the next change asks again.
    } finally {
      for (const id of ids) this.#asking.delete(id);
    }
  }
}

// Means of pairs once there are too many, so that the line keeps its shape.
export function halved(values: number[]): number[] {
  if (values.length <= 2 * BUCKETS) return values;
  const half: number[] = [];
  for (let i = 0; i < values.length; i += 2) {
    const [a, b] = [values[i]!, values[i + 1] ?? values[i]!];
    half.push((a + b) / 2);
  }
  return half;
}
