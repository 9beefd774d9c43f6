import type { ServerResponse } from 'node:http';
import type { Webhook } from '../webhook/webhook.js';
import { readBody, type NodeRequest } from './read-body.js';

/** A handler for Express and Connect; also for `node:http`, if you pass a `next` function. */
export type ExpressHandler = (request: NodeRequest, response: ServerResponse, next: (error?: unknown) => void) => void;

/**
 * Receives pushes in Express: `app.post('/hooks', expressWebhook(webhook))`. Mount it before every body parser except
 * `express.raw({ type: 'application/json', limit: '1mb' })`, which refuses more than 100 KiB by default. It passes
 * requests other than POST on to `next`.
 */
export function expressWebhook(webhook: Webhook): ExpressHandler {
  return (request, response, next) => {
    if (request.method !== 'POST') next();
    else answer(webhook, request, response).catch(next);
  };
}

async function answer(webhook: Webhook, request: NodeRequest, response: ServerResponse): Promise<void> {
  const body = await readBody(request, webhook.maxBodyBytes);
  const reception = await webhook.receive({ body, header: (name) => request.headers[name] });
  if (reception.kind === 'taken') response.once('close', () => void reception.begin());
  // The handler does not read the rest of a body that is too large, so the connection cannot be used again.
  if (body === 'too_large') response.setHeader('Connection', 'close');
  response.statusCode = reception.status;
  response.end();
}
