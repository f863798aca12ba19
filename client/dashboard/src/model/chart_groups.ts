// Which series share a chart: those that people read together.

export interface ChartGroup {
  title: string;
  series: string[];
  names: Map<string, string>; // what each line is called
  stacked: boolean; // parts of a whole: each lies on the one before
}

const TOGETHER = [
  ['train_loss', 'valid_loss'],
  ['train_acc', 'valid_acc'],
];
// What people look at first.
const FIRST = ['loss', 'train_loss', 'acc', 'train_acc', 'lr', 'grad_norm'];

// Of the machine, in the order in which one looks for what is slow: how fast, where a step's time goes, how busy, how full.
const SYSTEM_TITLES: [quantity: string, title: string][] = [
  ['samples_per_second', 'Samples per second'],
  ['tokens_per_second', 'Tokens per second'],
  ['step_time', 'Step time'],
  ['rank/cpu_percent', 'CPU (100 % is one core)'],
  ['rank/rss_bytes', 'Memory of the workers'],
  ['gpu/utilization_percent', 'GPU utilization'],
  ['gpu/memory_bytes', 'GPU memory'],
  ['gpu/power_watts', 'GPU power'],
  ['gpu/temperature_celsius', 'GPU temperature'],
];
// The parts of a step, in the order in which they happen.
const STEP_PARTS = ['data', 'compute', 'reduce', 'optimizer'];

// Series of the machine rather than of the model.
export function isSystemSeries(name: string): boolean {
  return (
    /^(system|sys|gpu|cpu|process|worker|rank|step_time)[./_]/.test(name) ||
    /(_per_second|_seconds|_bytes|_celsius|_watts|_percent|_utilization|_ratio)$/.test(name)
  );
}

// What jobs are compared by: all that the model did, and how fast.
export function isCompared(name: string): boolean {
  return !isSystemSeries(name) || /^(samples|tokens)_per_second$/.test(name);
}

// Set, not measured: smoothing would show what never was.
export function isExact(name: string): boolean {
  return name === 'lr' || name === 'epoch';
}

export function chartGroups(series: readonly string[]): ChartGroup[] {
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
  return groups
    .sort((a, b) => rank(a) - rank(b) || a[0]!.localeCompare(b[0]!))
    .map((names) => ({ title: names.join(', '), series: names, names: new Map(names.map((name) => [name, name])), stacked: false }));
}

// One chart for each quantity, with a line for each rank or GPU; the parts of a step on one.
export function systemGroups(series: readonly string[]): ChartGroup[] {
  const groups = new Map<string, { name: string; line: string; order: number }[]>();
  for (const name of series) {
    const [quantity, line, order] = placeOf(name);
    groups.set(quantity, [...(groups.get(quantity) ?? []), { name, line, order }]);
  }
  const rank = (quantity: string) => {
    const at = SYSTEM_TITLES.findIndex(([known]) => known === quantity);
    return at < 0 ? SYSTEM_TITLES.length : at;
  };
  return [...groups]
    .sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b))
    .map(([quantity, lines]) => {
      lines.sort((a, b) => a.order - b.order || a.name.localeCompare(b.name));
      const title = SYSTEM_TITLES.find(([known]) => known === quantity)?.[1] ?? quantity;
      return { title, series: lines.map((l) => l.name), names: new Map(lines.map((l) => [l.name, l.line])), stacked: quantity === 'step_time' };
    });
}

// "rank/3/rss_bytes" -> the quantity "rank/rss_bytes", as the line "rank 3", in the order of ranks.
function placeOf(name: string): [quantity: string, line: string, order: number] {
  const numbered = /^(rank|gpu)\/(\d+)\/(.+)$/.exec(name);
  if (numbered) return [`${numbered[1]}/${numbered[3]}`, `${numbered[1]} ${numbered[2]}`, Number(numbered[2])];
  const part = /^step_time\/(.+)$/.exec(name)?.[1];
  if (part === undefined) return [name, name, 0];
  const at = STEP_PARTS.indexOf(part);
  return ['step_time', part, at < 0 ? STEP_PARTS.length : at];
}
