import { seqFromText } from '#libs/domain';
import type { DeliveryPlace } from '#libs/postgres';
import { placeCursor } from '../http/place-cursor.js';

const PLACE = /^(\d{1,15})\.(\d{1,16})$/;

/** The cursors of the places after deliveries. New deliveries do not move a place. */
export const { encode: encodeDeliveryCursor, decode: decodeDeliveryCursor } = placeCursor<DeliveryPlace>(
  ({ createdAtMs, seq }) => `${createdAtMs}.${seq}`,
  (text) => {
    const [, createdAt, seq] = PLACE.exec(text) ?? [];
    if (createdAt === undefined || seq === undefined || Number(seq) > Number.MAX_SAFE_INTEGER) return undefined;
    return { createdAtMs: Number(createdAt), seq: seqFromText(seq) };
  },
);
