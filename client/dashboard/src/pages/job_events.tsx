// What has happened, newest first.
import type { Job, JobEvent } from '../gen/ddp/v1/job_pb';
import { formatCount, formatDuration, formatFullTime, formatTime, milliseconds } from '../model/format';
import { AttemptOutcome } from '../gen/ddp/v1/job_pb';
import { StateBadge } from '../ui/state_badge';

export function EventsTab({ job, events }: { job: Job; events: readonly JobEvent[] }) {
  return (
    <>
      <h2 class="section">Attempts</h2>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th class="number">Attempt</th>
              <th>Outcome</th>
              <th class="number">From step</th>
              <th class="number">To step</th>
              <th class="number">Ranks</th>
              <th>Started</th>
              <th class="number wide">First step after</th>
              <th class="number">Took</th>
            </tr>
          </thead>
          <tbody>
            {[...job.attempts].reverse().map((attempt) => {
              const [start, first, end] = [milliseconds(attempt.startTime), milliseconds(attempt.firstStepTime), milliseconds(attempt.endTime)];
              const outcome = attempt.outcome === AttemptOutcome.UNSPECIFIED ? 'alive' : AttemptOutcome[attempt.outcome]!.toLowerCase();
              return (
                <tr key={attempt.number}>
                  <td class="number">{attempt.number}</td>
                  <td>{outcome}</td>
                  <td class="number">{formatCount(attempt.startStep)}</td>
                  <td class="number">{formatCount(attempt.lastStep)}</td>
                  <td class="number">{attempt.nproc || '–'}</td>
                  <td>{formatTime(start)}</td>
                  <td class="number wide">{start && first ? `${((first - start) / 1000).toFixed(2)} s` : '–'}</td>
                  <td class="number">{start && end ? formatDuration((end - start) / 1000) : '–'}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <h2 class="section">Events</h2>
      <ol class="timeline" reversed>
        {[...events].reverse().map((event) => {
          const time = milliseconds(event.time);
          return (
            <li key={String(event.seq)}>
              <time title={time === undefined ? undefined : formatFullTime(time)}>{formatTime(time)}</time>
              {event.fromState === event.toState ? <span class="muted">·</span> : <StateBadge state={event.toState} />}
              <span class="wrap">{event.reason}</span>
            </li>
          );
        })}
      </ol>
    </>
  );
}
