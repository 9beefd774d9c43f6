import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/**
 * The most bytes that a receiver may send before the TLS handshake is done. Usual chains have 3 to 6 KB. The rest is for
 * certificates of many names, and for lists of the authorities of client certificates.
 */
export const MAX_HANDSHAKE_BYTES = 16 * 1024;

/**
 * The most bytes that a receiver may send from one request to the next: an answer of 52 KiB, the heads of its records, and
 * the tickets of TLS 1.3.
 */
export const MAX_RECORD_BYTES = 128 * 1024;

/** The code of `HandshakeTooLongError`. */
export const HANDSHAKE_TOO_LONG = 'ERR_HANDSHAKE_TOO_LONG';

/** The code of `RecordsTooLongError`. */
export const RECORDS_TOO_LONG = 'ERR_TLS_RECORDS_TOO_LONG';

/** The receiver sends more than a TLS handshake may have. */
export class HandshakeTooLongError extends Error {
  override readonly name = 'HandshakeTooLongError';
  readonly code = HANDSHAKE_TOO_LONG;
}

/** The receiver sends more than an answer may have. */
export class RecordsTooLongError extends Error {
  override readonly name = 'RecordsTooLongError';
  readonly code = RECORDS_TOO_LONG;
}

/**
 * The connection under TLS. It bounds the bytes of the handshake: OpenSSL verifies every certificate of a chain, even after
 * one that is wrong, on the thread that pushes for all. If TLS had the socket itself, Node would read up to 2 MiB of it before
 * any JavaScript runs.
 *
 * After the handshake it bounds the records. Not all of them carry data that others count: a receiver could send new keys and
 * tickets as fast as they are read.
 */
export class BoundedHandshake extends Duplex {
  #left = MAX_HANDSHAKE_BYTES;
  #isDone = false;

  /** @param socket a connected socket, which has no other reader */
  constructor(readonly socket: Socket) {
    super({ allowHalfOpen: false });
    socket.on('data', (bytes: Buffer) => {
      this.#left -= bytes.length;
      if (this.#left < 0) this.destroy(this.#tooLong());
      else if (!this.push(bytes)) socket.pause();
    });
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => {
      // After an end, TLS may still have to read what came before it.
      if (!socket.readableEnded) this.destroy();
    });
  }

  /** Call it when the handshake is done, and before each request. */
  expectAnswer(): void {
    this.#isDone = true;
    this.#left = MAX_RECORD_BYTES;
  }

  override _read(): void {
    this.socket.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.socket.write(bytes, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.socket.end(callback);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.socket.destroy();
    callback(error);
  }

  #tooLong(): Error {
    return this.#isDone
      ? new RecordsTooLongError('the TLS records are too long')
      : new HandshakeTooLongError('the TLS handshake is too long');
  }
}
