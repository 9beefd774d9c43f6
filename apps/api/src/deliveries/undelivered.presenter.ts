import { deliveryIdOf, type EndpointId } from '#libs/domain';
import type { Recoverable } from '#libs/postgres';
import { COUNT, DELIVERY_ID, EVENT_ID } from '../http/shapes.js';
import { presenter, schemasOf, type ShownMembers } from '../http/shown-members.js';

/** An event that the endpoint has not received. */
type Undelivered = Pick<Recoverable, 'kind' | 'seq' | 'eventId' | 'event'> & { readonly endpointId: EndpointId };

const MEMBERS = {
  seq: [COUNT, ({ seq }) => seq],
  event_id: [EVENT_ID, ({ eventId }) => eventId],
  event: [{ type: 'string' }, ({ event }) => event],
  reason: [
    {
      type: 'string',
      enum: ['pending', 'failed', 'never_sent'],
      description:
        'The status of the delivery. `never_sent`: there is none, and the event matches the endpoint as it is now.',
    },
    ({ kind }) => (kind === 'missed' ? 'never_sent' : kind),
  ],
  delivery_id: [
    { ...DELIVERY_ID, type: ['string', 'null'], description: 'null if it was never sent.' },
    ({ kind, eventId, endpointId }) => (kind === 'missed' ? null : deliveryIdOf(eventId, endpointId)),
  ],
} as const satisfies ShownMembers<Undelivered>;

export const undeliveredJson = presenter<Undelivered, typeof MEMBERS>(MEMBERS);

/** The JSON Schemas of its members. */
export const UNDELIVERED_SCHEMA = schemasOf<Undelivered>(MEMBERS);
