import type { AuditPlace } from '#libs/postgres';

const PLACE = /^(\d{1,18})\.([0-9a-f-]{36})$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns the place after an entry as an opaque cursor. */
export function encodeAuditCursor({ atMicros, id }: AuditPlace): string {
  return Buffer.from(`${atMicros}.${id}`).toString('base64url');
}

/** Returns the place of a cursor; `undefined` if the cursor is invalid. */
export function decodeAuditCursor(cursor: string): AuditPlace | undefined {
  const [, atMicros, id] = PLACE.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (atMicros === undefined || id === undefined || !UUID.test(id)) return undefined;
  // Each place has only one valid spelling, although Buffer ignores characters that are not base64url.
  return encodeAuditCursor({ atMicros, id }) === cursor ? { atMicros, id } : undefined;
}
