import { createHash } from 'node:crypto';
import {
  batchLimit,
  previousSequenceOf,
  VERSION,
  type BatchedDelivery,
  type DeliveryRef,
  type DueAttempt,
  type Target,
} from '#libs/domain';
import {
  asymmetricSignature,
  legacySignature,
  serviceSignature,
  standardWebhooksSignature,
} from '#libs/webhook-signature';
import { attemptTraceParent } from '../../attempt-trace-parent.js';
import { signedOnce } from './kept-signatures.js';

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
export type PushedAttempt = Pick<DueAttempt, 'delivery' | 'run' | 'attempt' | 'traceparent' | 'envelope'> & {
  readonly followers?: readonly Pick<BatchedDelivery, 'delivery'>[];
  /** The body as it is sent; by default the envelope. */
  readonly body?: Buffer;
};

/** The event before this one that was for the endpoint (contract 6.9). */
export const PREVIOUS_HEADER = 'x-service-previous-sequence';

/** The headers that require the endpoint's secret. */
export const SIGNATURE_HEADERS = ['x-service-signature', 'x-webhook-signature', 'webhook-signature'] as const;

/** The choices of an endpoint that differ from the defaults. */
export type PushChoices = Pick<Target, 'settings' | 'headers' | 'signingKeys'>;

/**
 * Returns the headers of a push (contract 6.1, 6.7), signed over the body's bytes. They depend on the arguments alone, so
 * that the request can be shown later.
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
  const { delivery, body = due.envelope } = due;
  const { id, ...named } = batchLimit(settings) === null ? nameOf(delivery) : nameOfBatch(due);
  const secrets = previousSecret === null ? [secret] : [secret, previousSecret];
  const legacySecret = previousSecret ?? secret;
  const timestamp = Math.floor(nowMs / 1_000);
  const previous = previousSequenceOf(delivery);
  return {
    'content-type': 'application/json',
    'user-agent': `Gapless/${VERSION}`,
    'x-service-signature': signedOnce(body, ['service', ...secrets, timestamp], () =>
      serviceSignature(secrets, timestamp, body),
    ),
    ...named,
    ...(previous === undefined ? {} : { [PREVIOUS_HEADER]: previous }),
    'x-service-attempt': String(due.attempt),
    ...(settings?.legacySignature === false
      ? {}
      : {
          'x-webhook-signature': signedOnce(body, ['legacy', legacySecret], () => legacySignature(legacySecret, body)),
        }),
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': [
      ...secrets.map((each) =>
        signedOnce(body, ['standard', each, id, timestamp], () => standardWebhooksSignature(each, id, timestamp, body)),
      ),
      ...(signingKeys ?? []).map((key) => asymmetricSignature(key, id, timestamp, body)),
    ].join(' '),
    traceparent: attemptTraceParent(due),
    ...headers,
  };
}

function nameOf({ event, eventId, deliveryId, seq }: DeliveryRef) {
  return {
    id: eventId,
    'x-service-event': event,
    'x-service-event-id': eventId,
    'x-service-delivery-id': deliveryId,
    'x-service-sequence': String(seq),
  };
}

/**
 * The names of a batch. Its id follows from its events, so that a receiver takes only a repeat of the same events for one.
 * The delivery is the first one, in whose log the attempt is.
 */
function nameOfBatch({ delivery, followers = [] }: PushedAttempt) {
  const all = [delivery, ...followers.map((follower) => follower.delivery)];
  const hash = createHash('sha256').update(all.map(({ eventId }) => eventId).join(' '));
  return {
    id: `batch_${hash.digest('hex').slice(0, 32)}`,
    'x-service-event': 'batch',
    'x-service-delivery-id': delivery.deliveryId,
    'x-service-sequence': `${delivery.seq}-${all.at(-1)?.seq ?? delivery.seq}`,
  };
}
