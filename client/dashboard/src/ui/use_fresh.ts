import { useEffect, useRef, useState } from 'preact/hooks';
import { errorText } from '../api/errors';

const PAUSE_MS = 500;

// What `ask` answers, asked again when `key` changes: one call at a time with a pause between two, so that changes that come
// faster than answers neither starve the page nor flood the daemon.
export function useFresh<T>(ask: () => Promise<T>, key: string): { value: T | undefined; error: string } {
  const [state, setState] = useState<{ value: T | undefined; error: string }>({ value: undefined, error: '' });
  const latest = useRef(ask);
  latest.current = ask;
  const calls = useRef({ busy: false, again: false, closed: false });
  useEffect(() => {
    const c = calls.current;
    const run = async () => {
      c.busy = true;
      c.again = false;
      const answer = await latest.current().then(
        (value) => ({ value, error: '' }),
        (e) => ({ value: undefined, error: errorText(e) }),
      );
      if (c.closed) return;
      setState((before) => ({ value: answer.value ?? before.value, error: answer.error }));
      setTimeout(() => {
        c.busy = false;
        if (c.again && !c.closed) void run();
      }, PAUSE_MS);
    };
    if (c.busy) c.again = true;
    else void run();
  }, [key]);
  useEffect(() => () => void (calls.current.closed = true), []);
  return state;
}
