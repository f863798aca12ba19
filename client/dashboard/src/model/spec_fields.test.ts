import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { JobSpecSchema, Mode, ScheduleKind } from '../gen/ddp/v1/spec_pb';
import { parseSpec, SPEC_FIELDS, specDifferences, specValues } from './spec_fields';

const spec = create(JobSpecSchema, {
  name: 'a',
  tags: ['x', 'y'],
  workload: {
    case: 'training',
    value: { mode: Mode.FINETUNE, lr: 1e-3, seed: 18446744073709551615n, schedule: ScheduleKind.MULTISTEP, nesterov: false, model: { name: 'mlp', options: { layers: '2', dim: '8' } } },
  },
});

describe('fields of a spec', () => {
  it('have the paths of the command line', () => {
    const paths = SPEC_FIELDS.map((f) => f.path);
    for (const path of ['name', 'resources.nproc', 'training.mode', 'training.data.label_column', 'training.model.options']) expect(paths).toContain(path);
    expect(paths.some((path) => path.startsWith('imported'))).toBe(false);
    expect(SPEC_FIELDS.find((f) => f.path === 'training.schedule')!.choices).toEqual(['step', 'constant', 'multistep', 'cosine', 'linear']);
  });
  it('become texts and come back as they were', () => {
    const values = specValues(spec);
    expect(Object.fromEntries(values)).toEqual({
      name: 'a',
      tags: 'x\ny',
      'training.mode': 'finetune',
      'training.model.name': 'mlp',
      'training.model.options': 'dim=8\nlayers=2',
      'training.lr': '0.001',
      'training.seed': '18446744073709551615',
      'training.schedule': 'multistep',
      'training.nesterov': 'false',
    });
    const parsed = parseSpec(values);
    expect(parsed.errors.size).toBe(0);
    expect(parsed.spec).toEqual(spec);
  });
  it('say which text is no value', () => {
    const { errors, spec: made } = parseSpec(
      new Map([
        ['training.lr', 'fast'],
        ['training.epochs', '1.5'],
        ['training.model.options', 'dim'],
        ['training.mode', 'pretrain'],
      ]),
    );
    expect([...errors.keys()]).toEqual(['training.lr', 'training.epochs', 'training.model.options']);
    expect(errors.get('training.epochs')).toBe('“1.5” is no whole number');
    expect(made.workload.case === 'training' && made.workload.value.mode).toBe(Mode.PRETRAIN);
  });
  it('show what differs', () => {
    const other = specValues(create(JobSpecSchema, { ...spec, tags: ['x'] }));
    expect([...specDifferences(specValues(spec), other)]).toEqual(['tags']);
  });
});
