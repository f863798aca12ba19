import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useApp } from './app';
import { Connection } from './connection';
import { ShortcutsDialog, useShortcuts } from './shortcuts';
import { Notices } from './notices';
import { nextTheme, theme } from './theme';
import { useStore } from './use_store';
import { route } from './router';

const THEMES = { auto: ['◐', 'as the system'], light: ['☀', 'light'], dark: ['☾', 'dark'] } as const;

export function Shell({ children }: { children: ComponentChildren }) {
  const { setToken } = useApp();
  const [help, setHelp] = useState(false);
  const main = useRef<HTMLElement>(null);
  const { path } = useStore(route);
  const page = path[0] ?? 'jobs';
  const [sign, name] = THEMES[useStore(theme)];
  useShortcuts(() => setHelp(true));

  // Somebody who reads with the keyboard begins at the top of the new page.
  const first = useRef(true);
  const place = path.join('/');
  useEffect(() => {
    if (!first.current) {
      window.scrollTo(0, 0);
      main.current?.focus({ preventScroll: true });
    }
    first.current = false;
  }, [place]);

  const link = (target: string, text: string) => (
    <a href={`#/${target}`} aria-current={page === target ? 'page' : undefined}>
      {text}
    </a>
  );
  return (
    <>
      <button class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header class="top">
        <a class="brand" href="#/jobs" aria-label="ddpd, jobs">
          ddpd
        </a>
        <nav aria-label="Pages">
          {link('jobs', 'Jobs')}
          {link('compare', 'Compare')}
          {link('submit', 'Submit')}
        </nav>
        <span class="grow" />
        <Connection />
        <button class="plain icon" aria-label={`Colours: ${name}`} title={`Colours: ${name}`} onClick={nextTheme}>
          {sign}
        </button>
        <button class="plain icon" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={() => setHelp(true)}>
          ?
        </button>
        <button class="plain small" onClick={() => setToken('')}>
          Log out
        </button>
      </header>
      <main ref={main} tabIndex={-1}>
        {children}
      </main>
      <Notices />
      {help && <ShortcutsDialog close={() => setHelp(false)} />}
    </>
  );
}
