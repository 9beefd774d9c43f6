import type { AuditPlace } from '#libs/postgres';

const PLACE = /^(\d{1,18})\.([0-9a-f-]{36})$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The place after an entry, as text that means nothing to a caller. */
export function encodeAuditCursor({ atMicros, id }: AuditPlace): string {
  return Buffer.from(`${atMicros}.${id}`).toString('base64url');
}

/** `undefined` for what is not a cursor of ours. */
export function decodeAuditCursor(cursor: string): AuditPlace | undefined {
  const [, atMicros, id] = PLACE.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (atMicros === undefined || id === undefined || !UUID.test(id)) return undefined;
  // One spelling for each place: Buffer overlooks what is not base64url.
  return encodeAuditCursor({ atMicros, id }) === cursor ? { atMicros, id } : undefined;
}
