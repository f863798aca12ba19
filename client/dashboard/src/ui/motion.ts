// What the system says of people whom movement disturbs. There is no window in the unit tests.
export function lessMotion(): boolean {
  return typeof window !== 'undefined' && window.matchMedia('(prefers-reduced-motion: reduce)').matches;
}
