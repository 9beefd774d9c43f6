import { ulid } from 'ulid';
import type { NewEvent } from './new-event.js';

/** An event with its id and its bytes. It can be sent repeatedly and stays one event. */
export interface ReadyEvent {
  readonly id: string;
  readonly orgId: string;
  /** `{id, event, occurred_at, org_id, widget_id, data}`, as in an ingest request and in the inbox topic. */
  readonly json: string;
}

const EVENT_ID = /^evt_[0-9A-Za-z]{16,64}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const MAX_EVENT_BYTES = 256 * 1024;

/** The event is invalid and can never be accepted. Nothing was sent. */
export class InvalidEventError extends Error {
  override readonly name = 'InvalidEventError';
}

function occurredAt({ occurred_at: given }: NewEvent): string {
  // eslint-disable-next-line no-restricted-syntax -- callers have no clock to pass
  const time = new Date(given ?? Date.now());
  if (Number.isNaN(time.getTime())) throw new InvalidEventError(`occurred_at is not a time: ${String(given)}`);
  return time.toISOString();
}

/**
 * Gives the event an id if it has none, and serializes it.
 * @throws InvalidEventError for problems that the types cannot show; the service checks the rest
 */
export function readyEvent(event: NewEvent): ReadyEvent {
  const { id = `evt_${ulid()}`, org_id, widget_id = null, data } = event;
  if (!EVENT_ID.test(id)) throw new InvalidEventError(`id is not evt_ and 16 to 64 letters and digits: ${id}`);
  if (!UUID.test(org_id)) throw new InvalidEventError(`org_id is not a UUID: ${org_id}`);
  // The key decides the partition, so it must always have the same spelling: lower case.
  const orgId = org_id.toLowerCase();
  const members = { id, event: event.event, occurred_at: occurredAt(event), org_id: orgId, widget_id, data };
  const json = JSON.stringify(members);
  if (Buffer.byteLength(json) > MAX_EVENT_BYTES) throw new InvalidEventError(`${id} is larger than 256 KiB`);
  return { id, orgId, json };
}
