import { expect, it } from 'vitest';
import { chartGroups, isSystemSeries } from './chart_groups';

it('puts training and validation on one chart, and what matters first', () => {
  expect(chartGroups(['zeta', 'valid_loss', 'lr', 'train_loss', 'loss', 'alpha', 'valid_acc'])).toEqual([
    ['loss'],
    ['train_loss', 'valid_loss'],
    ['valid_acc'],
    ['lr'],
    ['alpha'],
    ['zeta'],
  ]);
});
it('knows the machine from the model', () => {
  expect(['samples_per_second', 'gpu/0/power', 'rss_bytes', 'loss', 'emb_std'].map(isSystemSeries)).toEqual([true, true, true, false, false]);
});
