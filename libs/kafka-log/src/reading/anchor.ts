import { hash } from 'node:crypto';
import type { Anchor } from '#libs/domain';
import type { StoredRecord } from '../records/record.js';

const FINGERPRINT_CHARACTERS = 16;

/**
 * Makes the anchor of a record: its offset and a fingerprint of key and value. The time is left out, because records
 * that are put back into a topic get a new one.
 */
export function anchorOf({ offset, key, value }: Pick<StoredRecord, 'offset' | 'key' | 'value'>): Anchor {
  const parts = [key ?? Buffer.alloc(0), value ?? Buffer.alloc(0)];
  const hashes = parts.map((part) => hash('sha256', part, 'hex')).join(' ');
  return { offset, fingerprint: hash('sha256', hashes, 'hex').slice(0, FINGERPRINT_CHARACTERS) };
}

/** Prints an anchor as it is stored beside an offset. */
export function anchorText({ offset, fingerprint }: Anchor): string {
  return `${offset}:${fingerprint}`;
}

/** @returns `null` if the text is not an anchor: earlier versions stored none */
export function parseAnchor(text: string | null | undefined): Anchor | null {
  const found = /^(\d{1,16}):([0-9a-f]{16})$/.exec(text ?? '');
  if (found === null) return null;
  return { offset: Number(found[1]), fingerprint: found[2] ?? '' };
}
