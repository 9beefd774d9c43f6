import type { OrgId, Seq } from '../kernel/index.js';
import { isSignedBy, signatureOf } from './signed-text.js';

const SEQ_BYTES = 8;

/**
 * Makes and reads the cursors of event subscriptions. A cursor is a position in the log of one organization, signed so
 * that clients can neither invent one nor use one of another organization. It is the same in every process.
 */
export class EventCursors {
  readonly #current: Buffer;

  /** @param keys the first one signs, and every one verifies */
  constructor(private readonly keys: readonly Buffer[]) {
    const [current] = keys;
    if (current === undefined) throw new RangeError('a cursor needs a key');
    this.#current = current;
  }

  /** Returns the cursor of the position after `seq`. */
  at(orgId: OrgId, seq: Seq): string {
    const bytes = Buffer.alloc(SEQ_BYTES);
    bytes.writeBigUInt64BE(BigInt(seq));
    return Buffer.concat([bytes, signatureOf(this.#current, signedText(orgId, seq))]).toString('base64url');
  }

  /** Returns the position of a cursor; `undefined` if it is not a cursor of this organization. */
  read(orgId: OrgId, cursor: string): Seq | undefined {
    const bytes = Buffer.from(cursor, 'base64url');
    // Buffer ignores characters that are not base64url, and each cursor has only one valid spelling.
    if (bytes.length <= SEQ_BYTES || bytes.toString('base64url') !== cursor) return undefined;
    const seq = Number(bytes.readBigUInt64BE()) as Seq;
    return isSignedBy(this.keys, signedText(orgId, seq), bytes.subarray(SEQ_BYTES)) ? seq : undefined;
  }
}

function signedText(orgId: OrgId, seq: Seq): string {
  return `${orgId}\n${seq}`;
}
