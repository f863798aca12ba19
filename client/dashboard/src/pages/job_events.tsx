import type { Job, JobEvent } from '../gen/ddp/v1/job_pb';
export function EventsTab(_: { job: Job; events: readonly JobEvent[] }) { return <p>…</p>; }
