// One job with all its attempts and events, live by Watch. Watch ends with the job; the list of all jobs, which never ends,
// tells when the job has been resumed since, and shows the job before Watch has answered.
import { useEffect, useState } from 'preact/hooks';
import { Code } from '@connectrpc/connect';
import type { Job, JobEvent } from '../gen/ddp/v1/job_pb';
import { hasEnded } from '../model/job_view';
import { useApp } from '../ui/app';
import { useStore } from '../ui/use_store';

export interface WatchedJob {
  job: Job | undefined;
  events: readonly JobEvent[];
  error: string;
}

export function useJob(id: string): WatchedJob {
  const { live, jobs } = useApp();
  const [watched, setWatched] = useState<WatchedJob>({ job: undefined, events: [], error: '' });
  const [over, setOver] = useState(false);
  const listed = useStore(jobs.state).jobs.get(id);
  const awake = listed !== undefined && !hasEnded(listed.state);
  const open = !over || awake;

  useEffect(() => {
    if (!open) return;
    setOver(false);
    let events = watched.events;
    return live.add({
      topic: () => ({ topic: { case: 'job', value: { id, afterEvent: events.at(-1)?.seq ?? 0n } } }),
      update: ({ update }) => {
        if (update.case !== 'job') return;
        const { update: what } = update.value;
        if (what.case === 'event') events = [...events, what.value];
        const job = what.case === 'job' ? what.value : undefined;
        setWatched((before) => ({ job: job ?? before.job, events, error: '' }));
      },
      ended: (code, message) => {
        setOver(true);
        if (code !== 0) {
          const gone = code === Code.NotFound ? `There is no job “${id}”.` : message;
          setWatched((before) => ({ ...before, error: gone }));
        }
      },
    });
  }, [live, id, open]);
  return { ...watched, job: watched.job ?? listed };
}
