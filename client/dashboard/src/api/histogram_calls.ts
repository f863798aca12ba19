// The cards of a page ask for their histograms one by one; those that ask in the same moment share a call.
import type { Client } from '@connectrpc/connect';
import type { Histogram, MetricService } from '../gen/ddp/v1/metric_pb';

const GATHER_MS = 20;

interface Asked {
  series: string;
  resolve: (histograms: readonly Histogram[]) => void;
  reject: (error: unknown) => void;
}

export class HistogramCalls {
  #client: Pick<Client<typeof MetricService>, 'histograms'>;
  #jobId: string;
  #asked = new Map<bigint, Asked[]>(); // by the first step

  constructor(client: Pick<Client<typeof MetricService>, 'histograms'>, jobId: string) {
    this.#client = client;
    this.#jobId = jobId;
  }

  ask(series: string, fromStep: bigint): Promise<readonly Histogram[]> {
    return new Promise((resolve, reject) => {
      if (this.#asked.size === 0) setTimeout(() => this.#send(), GATHER_MS);
      this.#asked.set(fromStep, [...(this.#asked.get(fromStep) ?? []), { series, resolve, reject }]);
    });
  }

  #send(): void {
    const calls = [...this.#asked];
    this.#asked.clear();
    for (const [fromStep, asked] of calls) void this.#call(fromStep, asked);
  }

  async #call(fromStep: bigint, asked: readonly Asked[]): Promise<void> {
    try {
      const { histograms } = await this.#client.histograms({ jobId: this.#jobId, fromStep, series: asked.map((a) => a.series) });
      for (const { series, resolve } of asked) resolve(histograms.filter((h) => h.series === series));
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }
}
