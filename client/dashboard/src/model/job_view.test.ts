import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { JobSchema, JobState } from '../gen/ddp/v1/job_pb';
import { Mode } from '../gen/ddp/v1/spec_pb';
import { fraction, jobKind, secondsLeft, secondsTaken, stepsPerEpoch } from './job_view';

const running = create(JobSchema, {
  state: JobState.RUNNING,
  attempts: [
    { number: 1, facts: { steps_per_epoch: '20' } },
    { number: 2, startStep: 100n, firstStepTime: timestampFromMs(50_000) },
  ],
  progress: { step: 151n, totalSteps: 251n },
});

describe('job', () => {
  it('tells the time left at the pace of the attempt: 50 steps took 10 s, 100 are left', () => {
    expect(secondsLeft(running, 60_000)).toBeCloseTo(20, 9);
    expect(secondsLeft(create(JobSchema, { ...running, state: JobState.PAUSED }), 60_000)).toBeUndefined();
  });
  it('adds up the time of attempts, without what lies between them', () => {
    const at = timestampFromMs;
    const attempts = [{ startTime: at(1000), endTime: at(5000) }, { startTime: at(60_000) }];
    expect(secondsTaken(create(JobSchema, { attempts }), 63_000)).toBe(7);
    expect(secondsTaken(create(JobSchema, {}), 63_000)).toBeUndefined();
  });
  it('tells how much is done', () => {
    expect(fraction(running)).toBeCloseTo(151 / 251, 12);
    expect(fraction(create(JobSchema, { state: JobState.QUEUED }))).toBeUndefined();
  });
  it('finds the steps of an epoch in the newest attempt that says so', () => {
    expect(stepsPerEpoch(running)).toBe(20);
    expect(stepsPerEpoch(undefined)).toBe(0);
  });
  it('says in one line what is trained', () => {
    const spec = { workload: { case: 'training' as const, value: { mode: Mode.FINETUNE, model: { name: 'mlp' }, data: { source: '/data/a.csv' } } } };
    expect(jobKind(create(JobSchema, { spec }))).toBe('finetune · mlp · a.csv');
  });
});
