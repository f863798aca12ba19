// What the pages show of a job, computed from its message. No DOM here.
import { JobState, type Attempt, type Job } from '../gen/ddp/v1/job_pb';
import { Mode, Objective, type JobSpec, type Training } from '../gen/ddp/v1/spec_pb';
import { milliseconds } from './format';

const ENDED = new Set([JobState.PAUSED, JobState.CANCELLED, JobState.SUCCEEDED, JobState.FAILED]);

export function hasEnded(state: JobState): boolean {
  return ENDED.has(state);
}
export function stateName(state: JobState): string {
  return JobState[state] ?? 'UNKNOWN';
}
export const STATES = Object.values(JobState).filter((s): s is JobState => typeof s === 'number' && s !== JobState.UNSPECIFIED);

// The buttons that the daemon would not refuse.
export function mayCancel(state: JobState): boolean {
  return [JobState.QUEUED, JobState.STARTING, JobState.RUNNING, JobState.RESTARTING, JobState.PAUSING, JobState.PAUSED].includes(state);
}
export function mayPause(state: JobState): boolean {
  return [JobState.QUEUED, JobState.STARTING, JobState.RUNNING, JobState.RESTARTING].includes(state);
}
export function mayResume(state: JobState): boolean {
  return [JobState.CANCELLED, JobState.FAILED, JobState.PAUSED].includes(state);
}

export function trainingOf(spec: JobSpec | undefined): Training | undefined {
  return spec?.workload.case === 'training' ? spec.workload.value : undefined;
}

export function jobTitle(job: Job): string {
  return job.spec?.name || job.id;
}

// "finetune · text-encoder · wordnet:noun"
export function jobKind(job: Job): string {
  if (job.spec?.workload.case === 'imported') return `imported · ${job.spec.workload.value.source}`;
  const training = trainingOf(job.spec);
  if (!training) return '';
  const source = training.data?.source ?? '';
  const parts = [
    Mode[training.mode]?.toLowerCase(),
    training.objective === Objective.UNSPECIFIED ? undefined : Objective[training.objective]?.toLowerCase(),
    training.model?.name,
    source.slice(source.lastIndexOf('/') + 1),
  ];
  return parts.filter((part) => part).join(' · ');
}

export function newestAttempt(job: Job): Attempt | undefined {
  return job.attempts.at(-1);
}

export function stepsPerEpoch(job: Job | undefined): number {
  for (const attempt of [...(job?.attempts ?? [])].reverse()) {
    const steps = Number(attempt.facts['steps_per_epoch']);
    if (steps > 0) return steps;
  }
  return 0;
}

// 0 to 1; undefined while the daemon does not know the number of steps.
export function fraction(job: Job): number | undefined {
  const total = Number(job.progress?.totalSteps ?? 0n);
  if (total <= 0) return job.state === JobState.SUCCEEDED ? 1 : undefined;
  return Math.min(1, Number(job.progress?.step ?? 0n) / total);
}

// Seconds until the last step at the pace of this attempt so far; undefined unless it trains.
export function secondsLeft(job: Job, nowMs: number): number | undefined {
  const attempt = newestAttempt(job);
  const first = milliseconds(attempt?.firstStepTime);
  const progress = job.progress;
  if (job.state !== JobState.RUNNING || !attempt || first === undefined || !progress || progress.totalSteps <= 0n) return undefined;
  // The first step ends when the clock starts.
  const taken = Number(progress.step - attempt.startStep) - 1;
  const elapsed = (nowMs - first) / 1000;
  if (taken < 1 || elapsed <= 0) return undefined;
  return (Number(progress.totalSteps - progress.step) * elapsed) / taken;
}

// Seconds in which an attempt was alive, of the attempts that the message holds: the list of jobs holds only the newest.
export function secondsTaken(job: Job, nowMs: number): number | undefined {
  let sum: number | undefined;
  for (const attempt of job.attempts) {
    const start = milliseconds(attempt.startTime);
    if (start !== undefined) sum = (sum ?? 0) + ((milliseconds(attempt.endTime) ?? nowMs) - start) / 1000;
  }
  return sum;
}
