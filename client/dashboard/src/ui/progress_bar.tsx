export function ProgressBar({ value, label }: { value: number | undefined; label: string }) {
  return <progress aria-label={label} max={1} value={value ?? 0} class={value === undefined ? 'unknown' : undefined} />;
}
