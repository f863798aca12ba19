// The page is named by the fragment: "#/jobs/ID/logs?rank=0". The server needs to know nothing of it.
import { Store } from '../model/store';

export interface Route {
  path: string[]; // decoded
  params: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  return { path: path.split('/').filter((p) => p !== '').map(decodeURIComponent), params: new URLSearchParams(query) };
}

export function href(path: string[], params?: URLSearchParams): string {
  const query = params?.toString() ?? '';
  return `#/${path.map(encodeURIComponent).join('/')}${query === '' ? '' : `?${query}`}`;
}

export const route = new Store<Route>({ path: [], params: new URLSearchParams() });

export function startRouter(): void {
  const read = () => route.set(parseRoute(window.location.hash));
  window.addEventListener('hashchange', read);
  read();
}

// `replace`: a change of the same page, for which "back" should not stop.
export function go(target: string, replace = false): void {
  if (!replace) {
    window.location.hash = target;
    return;
  }
  window.history.replaceState(null, '', target);
  route.set(parseRoute(target));
}
