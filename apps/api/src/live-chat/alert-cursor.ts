import { parseEventId } from '#libs/domain';
import type { AlertPlace } from '#libs/postgres';

const PLACE = /^(\d{1,18})\.([12])\.(evt_[0-9A-Za-z]{16,64})$/;

/** Returns the place after an alert as an opaque cursor. */
export function encodeAlertCursor({ raisedMicros, stage, eventId }: AlertPlace): string {
  return Buffer.from(`${raisedMicros}.${stage}.${eventId}`).toString('base64url');
}

/** Returns the place of a cursor; `undefined` if the cursor is invalid. */
export function decodeAlertCursor(cursor: string): AlertPlace | undefined {
  const [, raisedMicros, stage, id] = PLACE.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  const eventId = parseEventId(id);
  if (raisedMicros === undefined || eventId === undefined) return undefined;
  const place: AlertPlace = { raisedMicros, stage: stage === '1' ? 1 : 2, eventId };
  // Each place has only one valid spelling, although Buffer ignores characters that are not base64url.
  return encodeAlertCursor(place) === cursor ? place : undefined;
}
