import { seqFromText } from '#libs/domain';
import type { DeliveryPlace } from '#libs/postgres';

const PLACE = /^(\d{1,15})\.(\d{1,16})$/;

/** Returns the place after a delivery as an opaque cursor. New deliveries do not move the place. */
export function encodeDeliveryCursor(place: DeliveryPlace): string {
  return Buffer.from(`${place.createdAtMs}.${place.seq}`).toString('base64url');
}

/** Returns the place of a cursor; `undefined` if the cursor is invalid. */
export function decodeDeliveryCursor(cursor: string): DeliveryPlace | undefined {
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const [, createdAt, seq] = PLACE.exec(text) ?? [];
  if (createdAt === undefined || seq === undefined || Number(seq) > Number.MAX_SAFE_INTEGER) return undefined;
  const place = { createdAtMs: Number(createdAt), seq: seqFromText(seq) };
  // Each place has only one valid spelling, although Buffer ignores characters that are not base64url.
  return encodeDeliveryCursor(place) === cursor ? place : undefined;
}
