import type { Socket } from 'node:net';

/** Response headers above this are refused. */
export const MAX_HEADER_BYTES = 16 * 1024;
/** The most bytes before the status: the headers with their separators, and the answers 1xx that precede them. */
export const MAX_HEAD_BYTES = MAX_HEADER_BYTES + 4 * 1024;
/** The most bytes after the status: twice the body that is read, because chunks have heads of their own. */
const MAX_BODY_BYTES = 32 * 1024;
/** undici parses a piece to its end, whatever it holds. A small piece bounds what it does in vain. */
const PIECE_BYTES = 4 * 1024;

/** The code of `AnswerTooLongError`. */
export const ANSWER_TOO_LONG = 'ERR_ANSWER_TOO_LONG';

/** The server sends more than an answer may have. */
export class AnswerTooLongError extends Error {
  override readonly name = 'AnswerTooLongError';
  readonly code = ANSWER_TOO_LONG;
}

/**
 * Bounds the bytes of an answer as they are on the wire. undici counts headers and body alone: a server that sends
 * thousands of small headers, endless 1xx answers or endless heads of chunks would take the thread that pushes for all.
 */
export class BoundedAnswer {
  #left = MAX_HEAD_BYTES;

  /** Call it before a request is sent. */
  expectAnswer(): void {
    this.#left = MAX_HEAD_BYTES;
  }

  /** Call it when the final status has come. */
  expectBody(): void {
    this.#left = MAX_BODY_BYTES;
  }

  /** Attaches the bound to the socket, before any other reader. */
  attach(socket: Socket): void {
    const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
    let rest: Buffer | undefined;
    this.expectAnswer();
    socket.read = (size?: number): Buffer | null => {
      if (socket.destroyed) return null;
      const bytes = rest ?? read(size);
      rest = undefined;
      if (bytes === null) return null;
      if (this.#left <= 0) {
        socket.destroy(new AnswerTooLongError('the answer is too long'));
        return null;
      }
      const piece = bytes.subarray(0, Math.min(PIECE_BYTES, this.#left));
      this.#left -= piece.length;
      if (piece.length < bytes.length) rest = bytes.subarray(piece.length);
      return piece;
    };
  }
}
