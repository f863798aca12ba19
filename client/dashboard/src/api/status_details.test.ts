import { create, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcWebTransport } from '@connectrpc/connect-web';
import { expect, it } from 'vitest';
import { ErrorDetailSchema, JobService } from '../gen/ddp/v1/job_pb';
import { violations } from './errors';
import { withDetails } from './status_details';

const detail = toBinary(ErrorDetailSchema, create(ErrorDetailSchema, { violations: [{ field: 'training.lr', description: '-1 is not > 0' }] }));
const text = Buffer.from(detail).toString('base64').replace(/=+$/, '');

function frame(flag: number, payload: Uint8Array): Uint8Array {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}
async function failure(answer: () => Response): Promise<unknown> {
  const transport = createGrpcWebTransport({ baseUrl: 'http://test', fetch: withDetails(() => true, async () => answer()) });
  return createClient(JobService, transport).submit({}).then(() => undefined, (error: unknown) => error);
}
const type = { 'content-type': 'application/grpc-web+proto' };

it('reads violations from trailers in the body', async () => {
  const trailers = new TextEncoder().encode(`grpc-status: 3\r\ngrpc-message: wrong\r\ngrpc-status-details-bin: ${text}\r\n`);
  const error = await failure(() => new Response(frame(0x80, trailers) as Uint8Array<ArrayBuffer>, { headers: type }));
  expect(ConnectError.from(error).code).toBe(Code.InvalidArgument);
  expect(ConnectError.from(error).rawMessage).toBe('wrong');
  expect([...violations(error)]).toEqual([['training.lr', '-1 is not > 0']]);
});
it('reads them from headers of an answer without a body', async () => {
  const headers = { ...type, 'grpc-status': '3', 'grpc-message': 'wrong', 'grpc-status-details-bin': text };
  expect([...violations(await failure(() => new Response(null, { headers })))]).toEqual([['training.lr', '-1 is not > 0']]);
});
it('finds none where there are none', () => {
  expect(violations(new ConnectError('x', Code.NotFound)).size).toBe(0);
});
