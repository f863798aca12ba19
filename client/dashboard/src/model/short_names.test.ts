import { expect, it } from 'vitest';
import { shortNames } from './short_names';

it('leaves out what all names begin with, by whole words', () => {
  expect(shortNames(['xor-lr-1e-3', 'xor-lr-3e-3', 'xor-lr-1e-2'])).toEqual(['…1e-3', '…3e-3', '…1e-2']);
  expect(shortNames(['training run 12', 'training run 13'])).toEqual(['…12', '…13']);
});
it('leaves names alone that share nothing, or little', () => {
  expect(shortNames(['train_loss', 'valid_loss'])).toEqual(['train_loss', 'valid_loss']);
  expect(shortNames(['rank 0', 'rank 1'])).toEqual(['rank 0', 'rank 1']);
  expect(shortNames(['reduce', 'reducer'])).toEqual(['reduce', 'reducer']);
  expect(shortNames(['the only one'])).toEqual(['the only one']);
});
