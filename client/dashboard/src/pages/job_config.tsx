import type { Job } from '../gen/ddp/v1/job_pb';
export function ConfigTab(_: { job: Job; params: URLSearchParams }) { return <p>…</p>; }
