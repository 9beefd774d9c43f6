import type { IncomingMessage } from 'node:http';

/** Bodies that a framework may have parsed before. */
export interface NodeRequest extends IncomingMessage {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/**
 * The raw body: the one that a framework has kept, or else what comes.
 * @throws TypeError when somebody has parsed the body and kept nothing of it
 * @throws Error when the request breaks off
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
