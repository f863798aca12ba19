import { JobState } from '../gen/ddp/v1/job_pb';
import { stateName } from '../model/job_view';

// A sign beside the colour: the state must not be told by colour alone.
const SIGNS: Partial<Record<JobState, [sign: string, kind: string]>> = {
  [JobState.QUEUED]: ['◷', 'wait'],
  [JobState.STARTING]: ['◌', 'run'],
  [JobState.RUNNING]: ['▶', 'run'],
  [JobState.RESTARTING]: ['↻', 'warn'],
  [JobState.PAUSING]: ['❚', 'wait'],
  [JobState.PAUSED]: ['❚❚', 'wait'],
  [JobState.CANCELLING]: ['◼', 'wait'],
  [JobState.CANCELLED]: ['◼', 'gone'],
  [JobState.SUCCEEDED]: ['✓', 'good'],
  [JobState.FAILED]: ['✕', 'bad'],
};

export function StateBadge({ state, reason }: { state: JobState; reason?: string }) {
  const [sign, kind] = SIGNS[state] ?? ['?', 'gone'];
  const name = stateName(state);
  return (
    <span class={`state ${kind}`} title={reason}>
      <span aria-hidden="true">{sign}</span>
      {name.charAt(0) + name.slice(1).toLowerCase()}
    </span>
  );
}
