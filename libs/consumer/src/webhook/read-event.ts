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

/** Returns the event in the body; `undefined` if there is none. Verify the body first. */
export function readEvent(body: Buffer): GaplessEvent | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return isEvent(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
