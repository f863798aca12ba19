import { useEffect, useState } from 'preact/hooks';
import type { Store } from '../model/store';

// The store's value; the component is drawn again when it changes.
export function useStore<T>(store: Store<T>): T {
  const [, redraw] = useState({});
  useEffect(() => {
    const seen = store.value;
    const stop = store.subscribe(() => redraw({}));
    if (store.value !== seen) redraw({});
    return stop;
  }, [store]);
  return store.value;
}
