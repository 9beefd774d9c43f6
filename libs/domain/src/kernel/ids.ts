import { createHmac, hash } from 'node:crypto';
import type { Brand } from './brand.js';

/** A lower-case UUID: the organization. It may have a record, but needs none. */
export type OrgId = Brand<string, 'OrgId'>;
/** A lower-case UUID: the owning widget of an event. */
export type WidgetId = Brand<string, 'WidgetId'>;
/** `evt_…`: the idempotency key of an event, unique in its org. */
export type EventId = Brand<string, 'EventId'>;
/** `whe_` + ULID. */
export type EndpointId = Brand<string, 'EndpointId'>;
/** `whd_` + 26 characters of base32. */
export type DeliveryId = Brand<string, 'DeliveryId'>;
/** `rec_` + ULID: a recovery of an endpoint's deliveries. */
export type RecoveryId = Brand<string, 'RecoveryId'>;
/** `gk_` + ULID. */
export type ApiKeyId = Brand<string, 'ApiKeyId'>;
/** `gps_` + ULID: a session of the customer portal. */
export type PortalSessionId = Brand<string, 'PortalSessionId'>;
/** A conversation's id, as the product services spell it: up to 255 characters, without control characters. */
export type ConversationId = Brand<string, 'ConversationId'>;
/** `alr_` + 26 characters of base32: a staff alert. */
export type AlertId = Brand<string, 'AlertId'>;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const BASE32_26 = /^[0-9A-HJKMNP-TV-Z]{26}$/;
const EVENT_ID = /^evt_[0-9A-Za-z]{16,64}$/;
// Postgres stores no NUL, UTF-8 has no lone surrogate, and an index entry has a size limit.
const CONVERSATION_ID = /^[^\p{Control}\p{Surrogate}]{1,255}$/u;

function parseUuid(text: unknown): string | undefined {
  return typeof text === 'string' && UUID.test(text) ? text.toLowerCase() : undefined;
}

function parsePrefixed(text: unknown, prefix: string): string | undefined {
  return typeof text === 'string' && text.startsWith(prefix) && BASE32_26.test(text.slice(prefix.length))
    ? text
    : undefined;
}

/** Each of these parsers returns `undefined` if the text is not well-formed. */
export const parseOrgId = (text: unknown): OrgId | undefined => parseUuid(text) as OrgId | undefined;
export const parseWidgetId = (text: unknown): WidgetId | undefined => parseUuid(text) as WidgetId | undefined;
export const parseEventId = (text: unknown): EventId | undefined =>
  typeof text === 'string' && EVENT_ID.test(text) ? (text as EventId) : undefined;
export const parseEndpointId = (text: unknown): EndpointId | undefined =>
  parsePrefixed(text, 'whe_') as EndpointId | undefined;
export const parseDeliveryId = (text: unknown): DeliveryId | undefined =>
  parsePrefixed(text, 'whd_') as DeliveryId | undefined;
export const parseRecoveryId = (text: unknown): RecoveryId | undefined =>
  parsePrefixed(text, 'rec_') as RecoveryId | undefined;
export const parseApiKeyId = (text: unknown): ApiKeyId | undefined =>
  parsePrefixed(text, 'gk_') as ApiKeyId | undefined;
export const parseConversationId = (text: unknown): ConversationId | undefined =>
  typeof text === 'string' && CONVERSATION_ID.test(text) ? (text as ConversationId) : undefined;

/** Returns the first 26 Crockford base32 characters of a digest. */
function base32(digest: Buffer): string {
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of digest) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5 && text.length < 26) {
      bits -= 5;
      text += CROCKFORD.charAt((value >>> bits) & 31);
    }
    value &= (1 << bits) - 1;
  }
  return text;
}

/**
 * Returns the id of the event's delivery to the endpoint. It depends on both ids alone, so routing twice gives the same
 * id.
 */
export function deliveryIdOf(eventId: EventId, endpointId: EndpointId): DeliveryId {
  const digest = hash('sha256', `${eventId}\n${endpointId}`, 'buffer');
  return `whd_${base32(digest)}` as DeliveryId;
}

/** Returns an event id that depends on the parts alone, for producers that may make the same event twice. */
export function derivedEventId(...parts: readonly string[]): EventId {
  return `evt_${base32(hash('sha256', parts.join('\n'), 'buffer'))}` as EventId;
}

/** Returns the id of the recovery that a text orders. It depends on the text alone, so the same order is one recovery. */
export function derivedRecoveryId(order: string): RecoveryId {
  return `rec_${base32(hash('sha256', order, 'buffer'))}` as RecoveryId;
}

/** Returns the id of the endpoint that a request creates. It depends on the seed of the request alone. */
export function derivedEndpointId(seed: string): EndpointId {
  return `whe_${base32(hash('sha256', seed, 'buffer'))}` as EndpointId;
}

/** Returns the id of the API key that a request creates. It depends on the seed alone. */
export function derivedApiKeyId(seed: string): ApiKeyId {
  return `gk_${base32(hash('sha256', seed, 'buffer'))}` as ApiKeyId;
}

/** Returns the id of the portal session that a request creates. It depends on the seed alone. */
export function derivedPortalSessionId(seed: string): PortalSessionId {
  return `gps_${base32(hash('sha256', seed, 'buffer'))}` as PortalSessionId;
}

/** Returns an event id that depends on the key and the text alone. It cannot be computed without the key. */
export function keyedEventId(key: Buffer, text: string): EventId {
  return `evt_${base32(createHmac('sha256', key).update(text).digest())}` as EventId;
}

/** Returns the id of the event's staff alert: the event's 26 characters with another prefix. */
export function alertIdOf(eventId: EventId): AlertId {
  return `alr_${eventId.slice('evt_'.length)}` as AlertId;
}
