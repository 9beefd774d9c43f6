import { parseEventId } from '#libs/domain';
import type { AlertPlace } from '#libs/postgres';
import { placeCursor } from '../http/place-cursor.js';

const PLACE = /^(\d{1,18})\.([12])\.(evt_[0-9A-Za-z]{16,64})$/;

/** The cursors of the places after alerts. */
export const { encode: encodeAlertCursor, decode: decodeAlertCursor } = placeCursor<AlertPlace>(
  ({ raisedMicros, stage, eventId }) => `${raisedMicros}.${stage}.${eventId}`,
  (text) => {
    const [, raisedMicros, stage, id] = PLACE.exec(text) ?? [];
    const eventId = parseEventId(id);
    if (raisedMicros === undefined || eventId === undefined) return undefined;
    return { raisedMicros, stage: stage === '1' ? 1 : 2, eventId };
  },
);
