import { createHash } from 'node:crypto';
import type { GaplessEvent } from '../../../event-types/src/index.js';
import { legacySignature, serviceSignature, standardWebhooksSignature } from '../../../webhook-signature/src/index.js';

/** The members of an event that a push shows outside its body. */
export type EventHead = Pick<GaplessEvent, 'id' | 'seq' | 'event'>;

export interface SignedPush {
  readonly event: EventHead;
  readonly body: Buffer;
  readonly attempt: number;
  readonly secret: string;
  readonly nowMs: number;
}

const BASE32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Returns an id in the form of delivery ids. It is the same for each attempt of an event. */
function deliveryIdOf(eventId: string): string {
  const digest = createHash('sha256').update(`gapless cli ${eventId}`).digest();
  return `whd_${Array.from(digest.subarray(0, 26), (byte) => BASE32[byte % 32]).join('')}`;
}

/** Returns the headers of a push (contract 6.1), signed over the bytes of the body. */
export function pushHeaders({ event, body, attempt, secret, nowMs }: SignedPush): Record<string, string> {
  const timestamp = Math.floor(nowMs / 1_000);
  return {
    'content-type': 'application/json',
    'user-agent': 'Gapless-CLI',
    'x-service-signature': serviceSignature(secret, timestamp, body),
    'x-service-event': event.event,
    'x-service-event-id': event.id,
    'x-service-delivery-id': deliveryIdOf(event.id),
    'x-service-sequence': String(event.seq),
    'x-service-attempt': String(attempt),
    'x-webhook-signature': legacySignature(secret, body),
    'webhook-id': event.id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': standardWebhooksSignature(secret, event.id, timestamp, body),
  };
}
