import { Code, ConnectError } from '@connectrpc/connect';
import { expect, it } from 'vitest';
import { ErrorDetailSchema } from '../gen/ddp/v1/job_pb';
import { violations } from './errors';

it('finds violations by field, several of one field together', () => {
  const value = {
    violations: [
      { field: 'training.lr', description: '-1 is not > 0' },
      { field: 'name', description: 'too long' },
      { field: 'training.lr', description: 'not with sgd' },
    ],
  };
  const error = new ConnectError('wrong', Code.InvalidArgument, undefined, [{ desc: ErrorDetailSchema, value }]);
  expect([...violations(error)]).toEqual([
    ['training.lr', '-1 is not > 0; not with sgd'],
    ['name', 'too long'],
  ]);
});
it('finds none where there are none', () => {
  expect(violations(new ConnectError('x', Code.NotFound)).size).toBe(0);
});
