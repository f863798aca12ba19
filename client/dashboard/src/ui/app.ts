// What every component may use: the calls, the stream, the token. Made once, in main.tsx.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Clients } from '../api/clients';
import type { Jobs } from '../api/jobs';
import type { Live } from '../api/live';
import { Store } from '../model/store';

export interface App {
  clients: Clients;
  live: Live;
  jobs: Jobs;
  token: Store<string>;
  setToken(token: string): void;
}

export const AppContext = createContext<App | undefined>(undefined);

export function useApp(): App {
  const app = useContext(AppContext);
  if (!app) throw new Error('useApp outside of AppContext');
  return app;
}
