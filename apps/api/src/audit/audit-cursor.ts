import type { AuditPlace } from '#libs/postgres';
import { placeCursor } from '../http/place-cursor.js';

const PLACE = /^(\d{1,18})\.([0-9a-f-]{36})$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The cursors of the places after entries. */
export const { encode: encodeAuditCursor, decode: decodeAuditCursor } = placeCursor<AuditPlace>(
  ({ atMicros, id }) => `${atMicros}.${id}`,
  (text) => {
    const [, atMicros, id] = PLACE.exec(text) ?? [];
    return atMicros === undefined || id === undefined || !UUID.test(id) ? undefined : { atMicros, id };
  },
);
