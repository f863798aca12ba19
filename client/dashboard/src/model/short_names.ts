// Names side by side in little room: what all of them begin with says nothing. "xor-lr-1e-3", "xor-lr-3e-3" -> "…1e-3", "…3e-3".
export function shortNames(names: readonly string[]): string[] {
  if (names.length < 2) return [...names];
  let common = 0;
  while (names.every((name) => common < name.length && name[common] === names[0]![common])) ++common;
  // Whole words only.
  const words = /^.*[-_/. ]/.exec(names[0]!.slice(0, common))?.[0].length ?? 0;
  return words < 6 ? [...names] : names.map((name) => `…${name.slice(words)}`);
}
