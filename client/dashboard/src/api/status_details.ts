// ddpd puts its ErrorDetail itself into grpc-status-details-bin, not a google.rpc.Status with one in it, and Connect takes what
// it cannot read there for a lost connection. So the trailer is renamed before Connect sees it, to a name of the same length:
// frames keep their lengths.
const THEIRS = 'grpc-status-details-bin';
export const DETAILS = 'x-ddp-error-details-bin';

const TRAILERS = 0x80;

// The same frames of a gRPC-Web body, with the trailer renamed. Messages are left alone.
export function renameTrailer(body: Uint8Array): void {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  for (let at = 0; at + 5 <= body.length; ) {
    const end = at + 5 + view.getUint32(at + 1);
    if ((body[at]! & TRAILERS) !== 0) {
      const text = new TextDecoder('latin1').decode(body.subarray(at + 5, end));
      const found = text.search(new RegExp(`(^|\n)${THEIRS}:`));
      if (found >= 0) body.set(new TextEncoder().encode(DETAILS), at + 5 + found + (text[found] === '\n' ? 1 : 0));
    }
    at = end;
  }
}

// For unary calls, whose answers Connect gathers anyway. Streams have no such details and go through as they are.
export function withDetails(unary: (url: string) => boolean, call: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await call(input, init);
    if (!unary(String(input))) return response;
    const headers = new Headers(response.headers);
    const early = headers.get(THEIRS);
    if (early !== null) {
      headers.delete(THEIRS);
      headers.set(DETAILS, early);
    }
    const body = new Uint8Array(await response.arrayBuffer());
    renameTrailer(body);
    return new Response(body, { status: response.status, statusText: response.statusText, headers });
  };
}
