// All jobs, live, by WatchAll: one store for every page.
import type { Job } from '../gen/ddp/v1/job_pb';
import { Store } from '../model/store';
import type { Live, Subscription } from './live';

export interface JobsState {
  jobs: ReadonlyMap<string, Job>;
  complete: boolean; // the daemon has listed them all
}

export class Jobs {
  readonly state = new Store<JobsState>({ jobs: new Map(), complete: false });
  #seen: Set<string> | undefined; // of the list that is on its way

  constructor(live: Live) {
    const subscription: Subscription = {
      topic: () => {
        this.#seen = new Set();
        return { topic: { case: 'jobs', value: {} } };
      },
      update: ({ update }) => {
        if (update.case !== 'jobs') return;
        const jobs = new Map(this.state.value.jobs);
        for (const job of update.value.jobs) {
          jobs.set(job.id, job);
          this.#seen?.add(job.id);
        }
        for (const id of update.value.deleted) jobs.delete(id);
        if (update.value.complete && this.#seen) {
          // What was deleted while no stream was open.
          for (const id of jobs.keys()) if (!this.#seen.has(id)) jobs.delete(id);
          this.#seen = undefined;
        }
        this.state.set({ jobs, complete: this.state.value.complete || update.value.complete });
      },
    };
    live.add(subscription);
  }
}
