import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Webhook } from '../webhook/webhook.js';

/** The context of runtimes that stop a request's work once it is answered. Longer work is registered with `waitUntil`. */
export interface FetchContext {
  waitUntil(work: Promise<unknown>): void;
}

/**
 * Receives pushes as requests of the Fetch standard: `export const POST = fetchWebhook(webhook)`, or
 * `Deno.serve(fetchWebhook(webhook))`. The work begins after the response. If the context has a `waitUntil`, the runtime
 * waits for the work. Each runtime passes a context of its own, so its type is left open.
 */
export function fetchWebhook(webhook: Webhook): (request: Request, context?: unknown) => Promise<Response> {
  return async (request, context) => {
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { Allow: 'POST' } });
    const body = await readBody(request, webhook.maxBodyBytes);
    const reception = await webhook.receive({ body, header: (name) => request.headers.get(name) });
    if (reception.kind === 'taken') {
      const work = nextTurn().then(() => reception.begin());
      if (canWait(context)) context.waitUntil(work);
    }
    return new Response(null, { status: reception.status });
  };
}

function canWait(context: unknown): context is FetchContext {
  return typeof context === 'object' && context !== null && typeof Reflect.get(context, 'waitUntil') === 'function';
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
