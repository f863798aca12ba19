import { useEffect } from 'preact/hooks';
import { Dialog } from './dialog';
import { go } from './router';

const KEYS: [keys: string, what: string][] = [
  ['g j', 'Jobs'],
  ['g c', 'Compare'],
  ['g s', 'Submit'],
  ['/', 'Filter'],
  ['?', 'This help'],
  ['Tab, Enter, Space', 'Move on, open, choose'],
  ['← →', 'In a chart: move the cursor (with Shift: ten points)'],
  ['+ −', 'In a chart: zoom in and out around the cursor'],
  ['0', 'In a chart: everything'],
  ['Esc', 'Close a dialog'],
];

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

export function useShortcuts(help: () => void): void {
  useEffect(() => {
    let prefix = 0; // when "g" was pressed
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector('dialog[open]')) return;
      const target = { j: '#/jobs', c: '#/compare', s: '#/submit' }[event.key];
      if (target && event.timeStamp - prefix < 1500) go(target);
      else if (event.key === '?') help();
      else if (event.key === '/') document.querySelector<HTMLElement>('[data-filter]')?.focus();
      else {
        prefix = event.key === 'g' ? event.timeStamp : 0;
        return;
      }
      prefix = 0;
      event.preventDefault();
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, []);
}

export function ShortcutsDialog({ close }: { close: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" close={close}>
      <dl class="keys">
        {KEYS.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <div class="buttons">
        <button onClick={close}>Close</button>
      </div>
    </Dialog>
  );
}
