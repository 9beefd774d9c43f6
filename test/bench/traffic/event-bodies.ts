/** What the rivals were measured with, in bytes of an event as it is submitted. */
export const EVENT_BYTES = 957;

const PROSE =
  'The invoice that came on Monday shows our old address, although we changed it in the settings last week. ';

export interface EventShape {
  /** Its type. */
  readonly event: string;
  /** Whose it is, if the key that it is sent with does not say. */
  readonly orgId?: string | undefined;
  /** Of its JSON text, all members included; `EVENT_BYTES` if not given. */
  readonly bytes?: number | undefined;
  /** The number of its ticket: its subject. */
  readonly ticket?: number | undefined;
}

/** The JSON text of an event of exactly so many bytes, which looks like a ticket. */
export function eventJson({ event, orgId, bytes = EVENT_BYTES, ticket = 5_120 }: EventShape): string {
  const withDescription = (description: string) =>
    JSON.stringify({
      event,
      org_id: orgId,
      widget_id: '7b0e5a52-6d0c-4a38-9c55-0a1d2f3b4c5d',
      data: {
        id: `tkt_${ticket}`,
        number: ticket,
        subject: 'Invoice shows the wrong address',
        status: 'open',
        priority: 'normal',
        department: { id: 'dep_3', name: 'Billing' },
        assignee: null,
        requester: { id: 'vis_88213', name: 'Jonas Weber', email: 'jonas.weber@example.com' },
        created_at: '2026-03-02T09:14:05.000Z',
        description,
      },
    });
  const missing = bytes - withDescription('').length;
  return withDescription(PROSE.repeat(Math.ceil(missing / PROSE.length)).slice(0, missing));
}

function bodyOf(events: readonly string[]): Buffer {
  return Buffer.from(`{"events":[${events.join(',')}]}`);
}

/** The body of an ingest request of `count` events of one org, about so many tickets in turn. */
export function bodyOfTickets(shape: EventShape, count: number, tickets: number): Buffer {
  const events = Array.from({ length: tickets }, (_, nth) => eventJson({ ...shape, ticket: 5_120 + nth }));
  return bodyOf(Array.from({ length: count }, (_, nth) => events[nth % tickets] ?? ''));
}

/**
 * The bodies of ingest requests of `count` events each, to be sent in turn: the events go to the orgs in turn, too. So
 * many bodies as it takes until an org is the first one again.
 */
export function ingestBodies(
  shape: Omit<EventShape, 'orgId'>,
  count: number,
  orgIds: readonly string[],
): readonly Buffer[] {
  if (orgIds.length === 0) return [bodyOf(Array.from({ length: count }, () => eventJson(shape)))];
  const events = orgIds.map((orgId) => eventJson({ ...shape, orgId }));
  const bodies: Buffer[] = [];
  let first = 0;
  do {
    bodies.push(bodyOf(Array.from({ length: count }, (_, index) => events[(first + index) % events.length] ?? '')));
    first = (first + count) % events.length;
  } while (first !== 0);
  return bodies;
}
