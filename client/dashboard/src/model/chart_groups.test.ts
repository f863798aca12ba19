import { expect, it } from 'vitest';
import { chartGroups, isCompared, isSystemSeries, systemGroups } from './chart_groups';

it('puts training and validation on one chart, and what matters first', () => {
  const groups = chartGroups(['zeta', 'valid_loss', 'lr', 'train_loss', 'loss', 'alpha', 'valid_acc']);
  expect(groups.map((g) => g.series)).toEqual([['loss'], ['train_loss', 'valid_loss'], ['valid_acc'], ['lr'], ['alpha'], ['zeta']]);
  expect(groups[1]!.title).toBe('train_loss, valid_loss');
});
it('knows the machine from the model', () => {
  const machine = ['samples_per_second', 'tokens_per_second', 'gpu/0/power_watts', 'rank/1/cpu_percent', 'rank/0/rss_bytes', 'step_time/reduce'];
  expect(machine.map(isSystemSeries)).toEqual(machine.map(() => true));
  expect(['loss', 'emb_std', 'ranking_loss', 'step', 'grad_norm'].map(isSystemSeries)).toEqual([false, false, false, false, false]);
});
it('compares the model and its speed, not the machine', () => {
  expect(['loss', 'samples_per_second', 'tokens_per_second', 'rank/0/cpu_percent', 'step_time/data'].map(isCompared)).toEqual([true, true, true, false, false]);
});
it('draws a quantity of all ranks on one chart, by rank', () => {
  const groups = systemGroups(['rank/10/cpu_percent', 'rank/2/cpu_percent', 'rank/0/cpu_percent', 'rank/0/rss_bytes', 'gpu/0/power_watts']);
  expect(groups.map((g) => [g.title, [...g.names.values()]])).toEqual([
    ['CPU (100 % is one core)', ['rank 0', 'rank 2', 'rank 10']],
    ['Memory of the workers', ['rank 0']],
    ['GPU power', ['gpu 0']],
  ]);
  expect(groups[0]!.series).toEqual(['rank/0/cpu_percent', 'rank/2/cpu_percent', 'rank/10/cpu_percent']);
});
it('draws the parts of a step on one chart in the order of a step, after the speed', () => {
  const groups = systemGroups(['step_time/optimizer', 'step_time/data', 'step_time/compute', 'step_time/reduce', 'samples_per_second']);
  expect(groups.map((g) => [g.title, g.stacked])).toEqual([
    ['Samples per second', false],
    ['Step time', true],
  ]);
  expect([...groups[1]!.names.values()]).toEqual(['data', 'compute', 'reduce', 'optimizer']);
});
it('gives an unknown quantity a chart of its own, at the end', () => {
  const groups = systemGroups(['gpu/1/fan_percent', 'disk_bytes', 'gpu/0/fan_percent', 'gpu/0/memory_bytes']);
  expect(groups.map((g) => [g.title, g.series])).toEqual([
    ['GPU memory', ['gpu/0/memory_bytes']],
    ['disk_bytes', ['disk_bytes']],
    ['gpu/fan_percent', ['gpu/0/fan_percent', 'gpu/1/fan_percent']],
  ]);
});
