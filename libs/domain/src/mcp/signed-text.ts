import { createHmac, timingSafeEqual } from 'node:crypto';

/** 128 bits cannot be guessed, and keep a cursor short. */
const MAC_BYTES = 16;

/** Returns a code that only holders of the key can make for the text. */
export function signatureOf(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest().subarray(0, MAC_BYTES);
}

/** Whether one of the keys signed the text. It takes the same time for every wrong signature. */
export function isSignedBy(keys: readonly Buffer[], text: string, signature: Buffer): boolean {
  return signature.length === MAC_BYTES && keys.some((key) => timingSafeEqual(signatureOf(key, text), signature));
}
