/** What the rivals were measured with, in bytes of an event as it is submitted. */
export const EVENT_BYTES = 957;

const PROSE =
  'The invoice that came on Monday shows our old address, although we changed it in the settings last week. ';

/** The JSON text of an event of exactly `EVENT_BYTES`, which looks like a ticket. */
export function eventJson(event: string): string {
  const withDescription = (description: string) =>
    JSON.stringify({
      event,
      widget_id: '7b0e5a52-6d0c-4a38-9c55-0a1d2f3b4c5d',
      data: {
        id: 'tkt_5120',
        number: 5120,
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
  const missing = EVENT_BYTES - withDescription('').length;
  return withDescription(PROSE.repeat(Math.ceil(missing / PROSE.length)).slice(0, missing));
}

/** The body of an ingest request of `count` events. */
export function ingestBody(event: string, count = 1): Buffer {
  return Buffer.from(`{"events":[${Array.from({ length: count }, () => eventJson(event)).join(',')}]}`);
}
