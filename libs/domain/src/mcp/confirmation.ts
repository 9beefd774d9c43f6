import { isSignedBy, signatureOf } from './signed-text.js';

/** Long enough for a person to look at the result of a dry run. */
const LIFETIME_MS = 10 * 60_000;

/**
 * Makes and checks confirmations. A dry run returns one, and the real run requires it. So an agent cannot begin a change
 * that it has not looked at.
 */
export class Confirmations {
  readonly #current: Buffer;

  /** @param keys the first one signs, and every one verifies */
  constructor(private readonly keys: readonly Buffer[]) {
    const [current] = keys;
    if (current === undefined) throw new RangeError('a confirmation needs a key');
    this.#current = current;
  }

  /** @param parts what exactly is confirmed */
  of(parts: readonly (string | number | null)[], nowMs: number): string {
    const untilMs = nowMs + LIFETIME_MS;
    return `${untilMs}.${signatureOf(this.#current, signedText(parts, untilMs)).toString('base64url')}`;
  }

  /**
   * Returns what the confirmation confirms, as a text that is the same for each spelling of it; `undefined` if it is not
   * one of these parts, or is over.
   */
  read(confirmation: string, parts: readonly (string | number | null)[], nowMs: number): string | undefined {
    const [until = '', signature = '', ...rest] = confirmation.split('.');
    const untilMs = Number(until);
    if (rest.length > 0 || !Number.isSafeInteger(untilMs) || untilMs < nowMs) return undefined;
    const text = signedText(parts, untilMs);
    return isSignedBy(this.keys, text, Buffer.from(signature, 'base64url')) ? text : undefined;
  }
}

function signedText(parts: readonly (string | number | null)[], untilMs: number): string {
  return JSON.stringify([untilMs, ...parts]);
}
