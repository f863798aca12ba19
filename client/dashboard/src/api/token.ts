// The daemon's token. It arrives in the fragment of a link (`#token=...`), which no browser sends anywhere, is taken out of
// the address bar at once, and leaves this machine only in the header `authorization`.
const KEY = 'ddpd.token';

type Place = Pick<Location, 'hash' | 'pathname' | 'search'>;

// The token of a fragment and what is left of it: "#token=abc&/jobs/j1" -> ["abc", "#/jobs/j1"].
export function splitFragment(hash: string): [token: string, rest: string] {
  const match = /^#token=([^&]*)&?(.*)$/.exec(hash);
  if (!match) return ['', hash];
  const rest = match[2] ?? '';
  return [decodeURIComponent(match[1] ?? ''), rest === '' ? '#/' : `#${rest}`];
}

// Of the link that opened the page, or of an earlier visit. Storage may be forbidden: then the token lives with the page.
export function takeToken(place: Place, history: Pick<History, 'replaceState'>, storage: Storage | undefined): string {
  const [token, rest] = splitFragment(place.hash);
  if (token === '') return storage?.getItem(KEY) ?? '';
  history.replaceState(null, '', place.pathname + place.search + rest);
  storage?.setItem(KEY, token);
  return token;
}

export function keepToken(token: string, storage: Storage | undefined): void {
  if (token === '') storage?.removeItem(KEY);
  else storage?.setItem(KEY, token);
}

export function browserStorage(): Storage | undefined {
  try {
    return window.localStorage;
  } catch {
    return undefined;
  }
}
