// MetricService.Import as a browser's gRPC-Web would send it: jobs whose points a test knows by formula. The messages are
// written by hand, so that nothing of the page's own code vouches for itself.
function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
}
const field = (number, content) => Buffer.concat([varint((number << 3) | 2), varint(content.length), content]);
const text = (number, value) => field(number, Buffer.from(value));
const integer = (number, value) => Buffer.concat([varint(number << 3), varint(value)]);
const double = (number, value) => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([varint((number << 3) | 1), bytes]);
};
const doubles = (number, values) => field(number, Buffer.from(new Float64Array(values).buffer));

// points: [step, value], a second apart.
export function column(series, points, start = 1_700_000_000) {
  const steps = Buffer.concat(points.map(([step]) => varint(step)));
  return field(1, Buffer.concat([text(1, series), field(2, steps), doubles(3, points.map(([step]) => start + step)), doubles(4, points.map(([, value]) => value))]));
}

export function histogram(series, step, min, max, counts) {
  const packed = Buffer.concat(counts.map(varint));
  return field(2, Buffer.concat([text(1, series), integer(2, step), double(3, 1_700_000_000 + step), double(4, min), double(5, max), field(6, packed)]));
}

export function textAt(series, step, words) {
  return field(3, Buffer.concat([text(1, series), integer(2, step), double(3, 1_700_000_000 + step), text(4, words)]));
}

// Each part becomes a message of its own. Answers with the job's id.
export async function importJob(daemon, name, parts) {
  const header = field(1, Buffer.concat([text(1, name), text(3, 'a test')]));
  const frames = [header, ...parts.map((part) => field(2, part))].map((message) => {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    return Buffer.concat([head, message]);
  });
  const answer = await fetch(`${daemon.url}/ddp.v1.MetricService/Import`, {
    method: 'POST',
    headers: { 'content-type': 'application/grpc-web+proto', 'x-grpc-web': '1', authorization: `Bearer ${daemon.token}` },
    body: Buffer.concat(frames),
  });
  const body = Buffer.from(await answer.arrayBuffer());
  const trailers = body.toString('latin1');
  if (answer.headers.get('grpc-status') > 0 || !/grpc-status: ?0/.test(trailers)) throw new Error(`Import: ${answer.headers.get('grpc-message') ?? trailers}`);
  // One message: the job's id is its first field.
  return body.subarray(7, 7 + body[6]).toString();
}
