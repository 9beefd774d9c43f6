import type { Socket } from 'node:net';

const CONTINUE = 'HTTP/1.1 100';
/** A `100 Continue` is a line with few headers. The parser refuses a longer one. */
const MAX_HEAD_BYTES = 4096;

function mayBeContinue(bytes: Buffer): boolean {
  return CONTINUE.startsWith(bytes.toString('latin1', 0, CONTINUE.length));
}

/**
 * Drops each `100 Continue` before an answer. Any client must skip it, even unasked (RFC 9110, section 15.2), but
 * undici takes it for a broken answer and closes the connection. undici skips all other 1xx answers itself.
 */
export class UnaskedContinueFilter {
  #awaitingAnswer = false;
  #held: Buffer | undefined;

  /** Call it before a request is sent. */
  expectAnswer(): void {
    this.#awaitingAnswer = true;
    this.#held = undefined;
  }

  /** Attaches the filter to the socket, before any other reader. */
  attach(socket: Socket): void {
    const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
    this.#awaitingAnswer = true;
    this.#held = undefined;
    socket.read = (size?: number): Buffer | null => {
      for (;;) {
        const chunk = read(size);
        if (chunk === null || !this.#awaitingAnswer) return chunk;
        const rest = this.#withoutContinue(chunk);
        if (rest !== undefined) return rest;
      }
    };
  }

  /** @returns undefined if no bytes are left, or if more bytes are needed */
  #withoutContinue(chunk: Buffer): Buffer | undefined {
    let bytes = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = undefined;
    while (mayBeContinue(bytes)) {
      const end = bytes.indexOf('\r\n\r\n');
      if (end === -1 && bytes.length <= MAX_HEAD_BYTES) {
        this.#held = bytes;
        return undefined;
      }
      if (end === -1) break;
      bytes = bytes.subarray(end + 4);
      if (bytes.length === 0) return undefined;
    }
    this.#awaitingAnswer = false;
    return bytes;
  }
}
