import { VERSION, type DueAttempt, type Target } from '#libs/domain';
import {
  asymmetricSignature,
  legacySignature,
  serviceSignature,
  standardWebhooksSignature,
} from '#libs/webhook-signature';
import { attemptTraceParent } from '../../attempt-trace-parent.js';

/** A message to the callback of an MCP subscription. */
export interface CallbackMessage {
  readonly subscriptionId: string;
  /** The event's id, or `msg_<type>_…` of a message that is no event. */
  readonly id: string;
  readonly body: Buffer;
  readonly secrets: readonly string[];
}

/** Returns the headers of a POST to the callback of an MCP subscription, by the MCP Events extension. */
export function callbackHeaders(
  { subscriptionId, id, body, secrets }: CallbackMessage,
  nowMs: number,
): Record<string, string> {
  const timestamp = Math.floor(nowMs / 1_000);
  return {
    'content-type': 'application/json',
    'user-agent': `Gapless/${VERSION}`,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map((each) => standardWebhooksSignature(each, id, timestamp, body)).join(' '),
    'x-mcp-subscription-id': subscriptionId,
  };
}

/** The members of an attempt that determine its headers. */
export type PushedAttempt = Pick<DueAttempt, 'delivery' | 'run' | 'attempt' | 'traceparent' | 'envelope'>;

/** The headers that require the endpoint's secret. */
export const SIGNATURE_HEADERS = ['x-service-signature', 'x-webhook-signature', 'webhook-signature'] as const;

/** The choices of an endpoint that differ from the defaults. */
export type PushChoices = Pick<Target, 'settings' | 'headers' | 'signingKeys'>;

/**
 * Returns the headers of a push (contract 6.1), signed over the envelope's bytes. They depend on the arguments alone,
 * so that the request can be shown later.
 * @param secret the endpoint's secret at the time of the attempt
 * @param previousSecret the secret before it, while both sign; the deprecated header, which holds one signature, uses
 *   this one
 * @param nowMs when the attempt begins, in epoch milliseconds; the signatures carry this time
 */
export function pushHeaders(
  due: PushedAttempt,
  secret: string,
  nowMs: number,
  previousSecret: string | null = null,
  { settings, headers, signingKeys }: PushChoices = {},
): Record<string, string> {
  const { delivery, envelope } = due;
  const secrets = previousSecret === null ? [secret] : [secret, previousSecret];
  const timestamp = Math.floor(nowMs / 1_000);
  return {
    'content-type': 'application/json',
    'user-agent': `Gapless/${VERSION}`,
    'x-service-signature': serviceSignature(secrets, timestamp, envelope),
    'x-service-event': delivery.event,
    'x-service-event-id': delivery.eventId,
    'x-service-delivery-id': delivery.deliveryId,
    'x-service-sequence': String(delivery.seq),
    'x-service-attempt': String(due.attempt),
    ...(settings?.legacySignature === false
      ? {}
      : { 'x-webhook-signature': legacySignature(previousSecret ?? secret, envelope) }),
    'webhook-id': delivery.eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': [
      ...secrets.map((each) => standardWebhooksSignature(each, delivery.eventId, timestamp, envelope)),
      ...(signingKeys ?? []).map((key) => asymmetricSignature(key, delivery.eventId, timestamp, envelope)),
    ].join(' '),
    traceparent: attemptTraceParent(due),
    ...headers,
  };
}
