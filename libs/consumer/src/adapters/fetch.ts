import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Webhook } from '../webhook/webhook.js';

/** The context of runtimes that stop a request's work once it is answered. Register longer work with `waitUntil`. */
export interface FetchContext {
  waitUntil?(work: Promise<unknown>): void;
}

/**
 * Receives pushes as requests of the Fetch standard: `export const POST = fetchWebhook(webhook)`, or
 * `Deno.serve(fetchWebhook(webhook))`. The work begins after the response. If there is a context, the runtime waits for
 * the work.
 */
export function fetchWebhook(webhook: Webhook): (request: Request, context?: FetchContext) => Promise<Response> {
  return async (request, context) => {
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { Allow: 'POST' } });
    const body = await readBody(request, webhook.maxBodyBytes);
    const reception = await webhook.receive({ body, header: (name) => request.headers.get(name) });
    if (reception.kind === 'taken') {
      const work = nextTurn().then(() => reception.begin());
      context?.waitUntil?.(work);
    }
    return new Response(null, { status: reception.status });
  };
}

async function readBody(request: Request, maxBytes: number): Promise<Buffer | 'too_large'> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > maxBytes) return 'too_large';
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
