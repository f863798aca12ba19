// Eight colours that can be told apart by colour-blind eyes, times three kinds of stroke.
export const COLOURS = 8;
const DASHES: (number[] | undefined)[] = [undefined, [6, 3], [2, 3]];

export function colourOf(index: number): string {
  return `--s${index % COLOURS}`;
}
export function dashOf(index: number): number[] | undefined {
  return DASHES[Math.floor(index / COLOURS) % DASHES.length];
}

function hash(text: string): number {
  let h = 0x811c9dc5;
  for (const c of text) h = Math.imul(h ^ c.codePointAt(0)!, 0x01000193);
  return h >>> 0;
}

// A look for each id. An id keeps what its hash says unless an earlier one of the list has taken it: then the next colour that
// is free, and only when none is, a colour once more with another stroke.
export function stableLooks(ids: readonly string[]): Map<string, number> {
  const looks = new Map<string, number>();
  const taken = new Set<number>();
  for (const id of ids) {
    const first = hash(id) % COLOURS;
    const order = DASHES.flatMap((_, dash) => Array.from({ length: COLOURS }, (__, i) => dash * COLOURS + ((first + i) % COLOURS)));
    const look = order.find((l) => !taken.has(l)) ?? first;
    taken.add(look);
    looks.set(id, look);
  }
  return looks;
}
