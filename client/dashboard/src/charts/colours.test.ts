import { expect, it } from 'vitest';
import { colourOf, dashOf, stableLooks } from './colours';

it('gives each of 24 jobs a look of its own, and the same one again', () => {
  const ids = Array.from({ length: 24 }, (_, i) => `job-${i}`);
  const looks = stableLooks(ids);
  expect(new Set(looks.values()).size).toBe(24);
  expect(stableLooks(ids)).toEqual(looks);
  expect(stableLooks(['job-7']).get('job-7')).toBe(stableLooks(['job-7', 'job-9']).get('job-7'));
});
it('changes the stroke once all colours are used', () => {
  expect([colourOf(8), dashOf(8)]).toEqual(['--s0', [6, 3]]);
  expect(dashOf(3)).toBeUndefined();
});
it('gives eight ids eight colours, whatever their hashes', () => {
  for (let set = 0; set < 50; ++set) {
    const looks = [...stableLooks(Array.from({ length: 8 }, (_, i) => `job-${set}-${i}`)).values()];
    expect([...looks].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  }
});
