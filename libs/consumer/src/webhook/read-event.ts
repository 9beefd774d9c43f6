import type { GaplessEvent } from '../../../event-types/src/index.js';

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/**
 * Whether the value has the members of an event (contract 3.2). It does not check `data`: the service has done that.
 */
export function isEvent(value: unknown): value is GaplessEvent {
  if (typeof value !== 'object' || value === null) return false;
  const { id, seq, event, occurred_at, org_id, data } = value as Readonly<Record<string, unknown>>;
  return (
    [id, event, occurred_at, org_id].every(isText) &&
    Number.isSafeInteger(seq) &&
    Number(seq) > 0 &&
    typeof data === 'object' &&
    data !== null
  );
}

/** The events of a push. */
export interface PushedEvents {
  /** At least one; in a batch, by seq. */
  readonly events: readonly GaplessEvent[];
  readonly isBatch: boolean;
}

/** Returns the event in the body, or those of a batch; `undefined` if it is neither. Verify the body first. */
export function readEvents(body: Buffer): PushedEvents | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    if (isEvent(value)) return { events: [value], isBatch: false };
    if (typeof value !== 'object' || value === null || !('events' in value)) return undefined;
    const { events } = value;
    const isBatch = Array.isArray(events) && events.length > 0 && events.every(isEvent);
    return isBatch ? { events, isBatch } : undefined;
  } catch {
    return undefined;
  }
}
