import type { Socket } from 'node:net';

const CONTINUE = 'HTTP/1.1 100';
/** A `100 Continue` has a line and hardly a header; what is longer is left to the parser to refuse. */
const MAX_HEAD_BYTES = 4096;

function mayBeContinue(bytes: Buffer): boolean {
  return CONTINUE.startsWith(bytes.toString('latin1', 0, CONTINUE.length));
}

/**
 * Drops each `100 Continue` before an answer. Any client must skip it, asked for or not (RFC 9110, section 15.2), but
 * undici takes it for a broken answer and closes the connection. All other 1xx answers it skips by itself.
 */
export class UnaskedContinueFilter {
  #awaitingAnswer = false;
  #held: Buffer | undefined;

  /** To be called when a request is about to be sent. */
  expectAnswer(): void {
    this.#awaitingAnswer = true;
    this.#held = undefined;
  }

  /** Puts the filter before later readers of the socket. */
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

  /** @returns undefined if nothing is left, or if more bytes are needed */
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
