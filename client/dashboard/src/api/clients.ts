import { createClient, type Client, type Interceptor, type Transport } from '@connectrpc/connect';
import { createGrpcWebTransport } from '@connectrpc/connect-web';
import { CheckpointService } from '../gen/ddp/v1/checkpoint_pb';
import { JobService } from '../gen/ddp/v1/job_pb';
import { LiveService } from '../gen/ddp/v1/live_pb';
import { MetricService } from '../gen/ddp/v1/metric_pb';
import { SystemService } from '../gen/ddp/v1/system_pb';

export interface Clients {
  jobs: Client<typeof JobService>;
  metrics: Client<typeof MetricService>;
  live: Client<typeof LiveService>;
  checkpoints: Client<typeof CheckpointService>;
  system: Client<typeof SystemService>;
}

export function makeClients(transport: Transport): Clients {
  return {
    jobs: createClient(JobService, transport),
    metrics: createClient(MetricService, transport),
    live: createClient(LiveService, transport),
    checkpoints: createClient(CheckpointService, transport),
    system: createClient(SystemService, transport),
  };
}

// gRPC-Web to the server that the page came from.
export function browserTransport(token: () => string): Transport {
  const authorize: Interceptor = (next) => (request) => {
    // The login box tries a token of its own.
    if (!request.header.has('authorization')) request.header.set('authorization', `Bearer ${token()}`);
    return next(request);
  };
  return createGrpcWebTransport({
    baseUrl: new URL('.', window.location.href).href.replace(/\/$/, ''),
    interceptors: [authorize],
  });
}
