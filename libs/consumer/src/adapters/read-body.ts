import type { IncomingMessage } from 'node:http';

/** A request whose body a framework may have parsed already. */
export interface NodeRequest extends IncomingMessage {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/**
 * Returns the raw body: the bytes that a framework has kept, otherwise the bytes of the stream.
 * @throws TypeError when another parser has read the body and kept no raw bytes
 * @throws Error when the connection breaks off
 */
export async function readBody(request: NodeRequest, maxBytes: number): Promise<Buffer | 'too_large'> {
  for (const kept of [request.rawBody, request.body]) if (Buffer.isBuffer(kept)) return kept;
  if (request.readableDidRead) {
    throw new TypeError(
      'the body was read before, so its signature cannot be verified: register the webhook before the body parser',
    );
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return 'too_large';
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
