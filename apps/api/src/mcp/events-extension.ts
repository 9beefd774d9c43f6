import {
  SUBSCRIPTION_ID_META_KEY,
  type McpServer,
  type Result,
  type ServerCapabilities,
  type ServerContext,
  type StandardSchemaV1,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { EVENT_DESCRIPTORS, mcpError } from '#libs/domain';
import type { Exchange } from './exchange.js';
import type { PollEvents } from './poll-events.js';
import { protocolError, type Refusals } from './refusal.js';
import type { StreamEvents } from './stream-events.js';
import { CALLBACK_URL } from './webhooks/callback-url.js';
import type { SubscribeWebhooks } from './webhooks/subscribe-webhooks.js';

const EXTENSION = 'io.modelcontextprotocol/events';

/** An object as it was sent. A record of zod would lose the member `__proto__`, so nothing would refuse it. */
const ARGUMENTS = z.custom<Readonly<Record<string, unknown>>>(
  (given) => typeof given === 'object' && given !== null && !Array.isArray(given),
  'must be an object',
);
const subscription = {
  name: z.string().max(100),
  arguments: ARGUMENTS.optional(),
  cursor: z.string().max(200).nullish(),
  maxAgeMs: z.number().int().min(0).optional(),
};
const LIST_PARAMS = z.object({ cursor: z.string().nullish() }).optional();
const POLL_PARAMS = z.object({ ...subscription, maxEvents: z.number().int().min(1).optional() });
const STREAM_PARAMS = z.object(subscription);
const SUBSCRIBE_PARAMS = z.object({
  ...subscription,
  delivery: z.object({ mode: z.string().max(100).optional(), url: CALLBACK_URL, secret: z.string().max(200) }),
  ttlMs: z.number().int().min(1).nullish(),
});
const UNSUBSCRIBE_PARAMS = z.object({
  name: subscription.name,
  arguments: subscription.arguments,
  delivery: z.object({ url: CALLBACK_URL }),
});

export interface EventHandlers {
  readonly poll: PollEvents;
  readonly stream: StreamEvents;
  readonly webhooks: SubscribeWebhooks;
  readonly refusals: Refusals;
}

/**
 * Adds the MCP Events extension (SEP-3415) to a server of the official SDK, which has no part of it. It also serves
 * clients of earlier protocol revisions, because deployed clients use the extension there.
 */
export function addEvents(server: McpServer, exchange: Exchange, handlers: EventHandlers): void {
  const { poll, stream, webhooks, refusals } = handlers;
  // Clients of the draft read `events`; clients of the extension read `extensions`.
  const capabilities: ServerCapabilities & { readonly events: object } = {
    events: {},
    extensions: { [EXTENSION]: {} },
  };
  server.server.registerCapabilities(capabilities);

  function handle<Params extends StandardSchemaV1>(
    method: string,
    params: Params,
    act: (given: StandardSchemaV1.InferOutput<Params>, context: ServerContext) => Promise<object>,
  ): void {
    server.server.setRequestHandler(method, { params }, async (given, context): Promise<Result> => {
      try {
        requireScope(exchange);
        return { ...(await act(given, context)) };
      } catch (error) {
        throw refusals.protocolError(error, exchange.actor.requestId);
      }
    });
  }

  handle('events/list', LIST_PARAMS, (given) => {
    const cursor = given?.cursor ?? null;
    if (cursor === null) return Promise.resolve({ events: EVENT_DESCRIPTORS });
    throw protocolError(mcpError('InvalidParams', 'The list has one page, so there is no cursor.'));
  });
  handle('events/poll', POLL_PARAMS, (given) => poll.poll(exchange, given));
  handle('events/stream', STREAM_PARAMS, async (given, { mcpReq: { id, notify } }) => {
    const _meta = { [SUBSCRIPTION_ID_META_KEY]: id };
    for await (const { method, params } of stream.stream(exchange, given)) {
      const merged = { ...params, _meta: { ...(params['_meta'] as object | undefined), ..._meta } };
      await exchange.send(() => notify({ method, params: merged }));
    }
    return { _meta };
  });
  handle('events/subscribe', SUBSCRIBE_PARAMS, (given) => webhooks.subscribe(exchange, given));
  handle('events/unsubscribe', UNSUBSCRIBE_PARAMS, (given) => webhooks.unsubscribe(exchange, given));
}

function requireScope({ key }: Exchange): void {
  if (key.scopes.includes('events:read')) return;
  throw protocolError(
    mcpError('Forbidden', 'The API key lacks the scope events:read.', {
      reason: 'insufficient_scope',
      scope: 'events:read',
    }),
  );
}
