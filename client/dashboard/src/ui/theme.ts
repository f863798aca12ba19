// Light, dark, or what the system says.
import { Store } from '../model/store';
import { browserStorage } from '../api/token';

export type Theme = 'auto' | 'light' | 'dark';
const KEY = 'ddpd.theme';

export const theme = new Store<Theme>('auto');
// Counts changes of what is really shown, so that charts take their colours anew.
export const palette = new Store(0);

const systemIsDark = () => window.matchMedia('(prefers-color-scheme: dark)');

function apply(): void {
  const dark = theme.value === 'auto' ? systemIsDark().matches : theme.value === 'dark';
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  palette.set(palette.value + 1);
}

export function startTheme(): void {
  const kept = browserStorage()?.getItem(KEY);
  if (kept === 'light' || kept === 'dark') theme.set(kept);
  apply();
  systemIsDark().addEventListener('change', apply);
}

export function nextTheme(): void {
  const next: Record<Theme, Theme> = { auto: 'light', light: 'dark', dark: 'auto' };
  theme.set(next[theme.value]);
  if (theme.value === 'auto') browserStorage()?.removeItem(KEY);
  else browserStorage()?.setItem(KEY, theme.value);
  apply();
}

export function cssColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
