import { useEffect, useState } from 'preact/hooks';
import type { RefObject } from 'preact';

// Whether the element is in sight, or soon will be: what is far away is not mounted.
export function useNear(element: RefObject<HTMLElement>): boolean {
  const [near, setNear] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => setNear(entries.at(-1)!.isIntersecting), { rootMargin: '300px 0px' });
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, [element]);
  return near;
}
