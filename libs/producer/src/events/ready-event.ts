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

  /** @param index the place of the event in the list that was passed to `emit`, from 0 */
  constructor(
    readonly index: number,
    problem: string,
    options?: ErrorOptions,
  ) {
    super(`events[${index}]: ${problem}`, options);
  }
}

function occurredAt({ occurred_at: given }: NewEvent, index: number): string {
  const time = new Date(given ?? Date.now());
  if (Number.isNaN(time.getTime())) throw new InvalidEventError(index, `occurred_at is not a time: ${String(given)}`);
  return time.toISOString();
}

/** @throws InvalidEventError for data with a BigInt or a reference to itself, which JSON cannot express */
function jsonOf(members: object, index: number): string {
  try {
    return JSON.stringify(members);
  } catch (error) {
    const detail = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
    throw new InvalidEventError(index, `data cannot be written as JSON: ${detail ?? ''}`, { cause: error });
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Gives the event an id if it has none, and serializes it.
 * @param index the place of the event in its list, for error messages
 * @throws InvalidEventError for problems that the types cannot show; the service checks the rest
 */
export function readyEvent(event: NewEvent, index = 0): ReadyEvent {
  if (!isObject(event)) throw new InvalidEventError(index, 'is not an object');
  const { id = `evt_${ulid()}`, org_id, widget_id = null, data } = event;
  if (!EVENT_ID.test(id)) throw new InvalidEventError(index, `id is not evt_ and 16 to 64 letters and digits: ${id}`);
  if (!UUID.test(org_id)) throw new InvalidEventError(index, `org_id is not a UUID: ${org_id}`);
  if (!isObject(data)) throw new InvalidEventError(index, 'data is not an object');
  // The key decides the partition, so it must always have the same spelling: lower case.
  const orgId = org_id.toLowerCase();
  const members = { id, event: event.event, occurred_at: occurredAt(event, index), org_id: orgId, widget_id, data };
  const json = jsonOf(members, index);
  if (Buffer.byteLength(json) > MAX_EVENT_BYTES) throw new InvalidEventError(index, `${id} is larger than 256 KiB`);
  return { id, orgId, json };
}
