// Short messages about what a click has done, read out by screen readers.
import { Store } from '../model/store';
import { useStore } from './use_store';

interface Notice {
  id: number;
  kind: 'ok' | 'error';
  text: string;
}
const notices = new Store<readonly Notice[]>([]);
let last = 0;

export function notify(kind: Notice['kind'], text: string): void {
  const id = ++last;
  notices.set([...notices.value.slice(-3), { id, kind, text }]);
  if (kind === 'ok') setTimeout(() => dismiss(id), 8000);
}

function dismiss(id: number): void {
  notices.set(notices.value.filter((n) => n.id !== id));
}

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {useStore(notices).map((n) => (
        <div key={n.id} class={`notice ${n.kind}`}>
          <span>{n.text}</span>
          <button class="plain" aria-label="Dismiss" onClick={() => dismiss(n.id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}
