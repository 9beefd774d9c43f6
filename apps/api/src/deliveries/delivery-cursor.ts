import { seqFromText } from '#libs/domain';
import type { DeliveryPlace } from '#libs/postgres';

const PLACE = /^(\d{1,15})\.(\d{1,16})$/;

/** The place behind a delivery, as text that means nothing to a caller. It stays where it is while deliveries arrive. */
export function encodeDeliveryCursor(place: DeliveryPlace): string {
  return Buffer.from(`${place.createdAtMs}.${place.seq}`).toString('base64url');
}

/** `undefined` for what is not a cursor of ours. */
export function decodeDeliveryCursor(cursor: string): DeliveryPlace | undefined {
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const [, createdAt, seq] = PLACE.exec(text) ?? [];
  if (createdAt === undefined || seq === undefined || Number(seq) > Number.MAX_SAFE_INTEGER) return undefined;
  const place = { createdAtMs: Number(createdAt), seq: seqFromText(seq) };
  // One spelling for each place: Buffer overlooks what is not base64url.
  return encodeDeliveryCursor(place) === cursor ? place : undefined;
}
