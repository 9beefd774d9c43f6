import type { DestinationContext } from '../destination-kind.js';
import { endpointUrlRules } from './endpoint-url-rules.js';
import { createPushClient } from './push/push-client.js';
import { callbackHeaders, type CallbackMessage } from './push/push-headers.js';
import type { PushOutcome } from './push/push-attempt.js';
import { createResolver } from './resolver.js';
import { watchedProxy } from './proxy/watched-proxy.js';

/** The answer of a callback, or why there was none: the error of an attempt, as the delivery log has it. */
export type CallbackOutcome =
  { readonly kind: 'accepted'; readonly body: string } | { readonly kind: 'failed'; readonly error: string };

/** Sends messages to callbacks of MCP subscriptions, by the address rules of every push. */
export interface CallbackClient {
  /** Never rejects. The body is cut after 1 KiB. */
  post(url: string, message: CallbackMessage): Promise<CallbackOutcome>;
  /** Never rejects. Follows no redirect. A body that breaks off or is longer than 16 KiB is a failure. */
  get(url: string): Promise<CallbackOutcome>;
  close(): Promise<void>;
}

/**
 * A receiver has this long to answer, milliseconds, and an egress proxy that is away has as long to come back. A caller may
 * be waiting for the answer.
 */
const TIMEOUT_MS = 5_000;
const NOTHING = Buffer.alloc(0);

export function openCallbackClient(context: DestinationContext): CallbackClient {
  const { config, clock } = context;
  const timeoutMs = Math.min(TIMEOUT_MS, config.deliveryTimeoutMs);
  const client = createPushClient({
    resolver: createResolver({ dnsServers: config.dnsServers, timeoutMs }),
    ...endpointUrlRules(config),
    clock,
    egressProxy: watchedProxy(context),
  });
  return {
    async post(url, message) {
      const headers = (atMs: number) => callbackHeaders(message, atMs);
      const signal = AbortSignal.timeout(2 * timeoutMs);
      return toOutcome(await client.post({ url, headers, body: message.body, timeoutMs, signal }));
    },
    async get(url) {
      const headers = () => ({ accept: 'application/json' });
      const signal = AbortSignal.timeout(2 * timeoutMs);
      return toOutcome(
        await client.post({ url, method: 'GET', headers, body: NOTHING, needsBody: true, timeoutMs, signal }),
      );
    },
    close: () => client.close(),
  };
}

function toOutcome(outcome: PushOutcome): CallbackOutcome {
  if (outcome.kind === 'failed') return { kind: 'failed', error: outcome.error };
  const { status, responseExcerpt, body } = outcome;
  return status >= 200 && status <= 299
    ? { kind: 'accepted', body: body ?? responseExcerpt }
    : { kind: 'failed', error: `http_status: ${status}` };
}
