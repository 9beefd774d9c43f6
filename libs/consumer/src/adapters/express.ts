import type { ServerResponse } from 'node:http';
import type { Webhook } from '../webhook/webhook.js';
import { readBody, type NodeRequest } from './read-body.js';

/** A handler of Express, of Connect, and of `node:http` with a `next` of one's own. */
export type ExpressHandler = (request: NodeRequest, response: ServerResponse, next: (error?: unknown) => void) => void;

/**
 * Receives pushes in Express: `app.post('/hooks', expressWebhook(webhook))`, in front of any body parser but
 * `express.raw`. Anything but a POST is passed on.
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
  // The rest of a body that is too large is not read.
  if (body === 'too_large') response.setHeader('Connection', 'close');
  response.statusCode = reception.status;
  response.end();
}
