import { useApp } from './app';
import { useStore } from './use_store';
import { formatClock } from '../model/format';
import type { LiveStatus } from '../api/live';

function words(status: LiveStatus): [kind: string, text: string] {
  if (status.kind === 'live') return ['live', 'Live'];
  if (status.kind === 'stale') return ['stale', `Stale since ${formatClock(status.since)}`];
  if (status.kind === 'hidden') return ['idle', 'Paused while hidden'];
  if (status.kind === 'refused') return ['stale', 'Token refused'];
  return ['idle', 'Connecting…'];
}

export function Connection() {
  const status = useStore(useApp().live.status);
  const [kind, text] = words(status);
  return (
    <span class={`connection ${kind}`} role="status" title={status.kind === 'stale' ? `${status.reason} Trying again.` : undefined}>
      <span class="dot" aria-hidden="true" />
      {text}
    </span>
  );
}
