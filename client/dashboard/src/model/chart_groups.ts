// Which series share a chart: those that people read together.
const TOGETHER = [
  ['train_loss', 'valid_loss'],
  ['train_acc', 'valid_acc'],
];
// What people look at first.
const FIRST = ['loss', 'train_loss', 'acc', 'train_acc', 'lr', 'grad_norm', 'samples_per_second'];

// Series of the machine rather than of the model.
export function isSystemSeries(name: string): boolean {
  return /^(system|sys|gpu|cpu|process|worker)[./_]/.test(name) || /(_per_second|_seconds|_bytes|_celsius|_watts|_utilization|_ratio)$/.test(name);
}

// Set, not measured: smoothing would show what never was.
export function isExact(name: string): boolean {
  return name === 'lr' || name === 'epoch';
}

export function chartGroups(series: readonly string[]): string[][] {
  const left = new Set(series);
  const groups: string[][] = [];
  for (const group of TOGETHER) {
    const found = group.filter((name) => left.delete(name));
    if (found.length > 0) groups.push(found);
  }
  for (const name of left) groups.push([name]);
  const rank = (group: string[]) => {
    const at = FIRST.indexOf(group[0] === 'valid_loss' ? 'train_loss' : group[0] === 'valid_acc' ? 'train_acc' : group[0]!);
    return at < 0 ? FIRST.length : at;
  };
  return groups.sort((a, b) => rank(a) - rank(b) || a[0]!.localeCompare(b[0]!));
}
