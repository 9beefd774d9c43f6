import type { IncomingMessage } from 'node:http';
import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify';
import { GaplessError } from '#libs/domain';
import { sharerOf } from '../fair-room.js';
import { whenClosed } from '../when-closed.js';
import { PendingBodies, type HeldBody } from './pending-bodies.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The room that its body takes; `null` without a body. */
    heldBody: HeldBody | null;
  }
}

/** A body may come in this many chunks, and one more for each 16 bytes. Each chunk costs as much as a long one. */
const FEW_CHUNKS = 10_000;
const BYTES_OF_A_CHUNK = 16;
/** The room for a body without a declared length, at first. */
const FIRST_BYTES = 16 * 1024;
/** Callers without a key share one part of the room: they can only sign in. */
const WITHOUT_KEY = '';

/**
 * Accepts JSON bodies only (415 otherwise). Handlers get the bytes as they were sent, and each operation reads its own.
 * @param maxBytes of all bodies in memory. An organization may hold half of what the others leave; so may the visitors of
 *   its portal together, and each service key.
 */
export function acceptJson(instance: FastifyInstance, maxBytes: number): void {
  const pending = new PendingBodies(maxBytes);
  instance.decorateRequest('heldBody', null);
  instance.removeAllContentTypeParsers();
  instance.addHook('preParsing', (request, reply, payload, done) => {
    if (hasBody(request)) {
      if (isRead(request)) {
        const held = pending.of(sharerOf(request) ?? WITHOUT_KEY);
        request.heldBody = held;
        whenClosed(reply, held.release);
      } else {
        // Its beginning would stay in memory until the answer ends.
        request.raw.resume();
      }
    }
    done(null, payload);
  });
  instance.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    const encoding = request.headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity') {
      throw new GaplessError('unsupported_media_type', 'The body must not be encoded.');
    }
    return new BodyReader(request).read(payload);
  });
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Whether Fastify reads the body. */
function isRead({ method }: FastifyRequest): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

/** Copies each chunk of a body into one buffer. The chunks are not kept, since one of a single byte takes 400 bytes. */
class BodyReader {
  readonly #limit: number;
  readonly #declared: number | undefined;
  readonly #held: HeldBody | null;
  #buffer = Buffer.alloc(0);
  #bytes = 0;
  #chunks = 0;
  /** Why there is no room for the body. */
  #refusal: Error | null = null;

  constructor({ headers, heldBody, routeOptions }: FastifyRequest) {
    const length = headers['content-length'];
    this.#limit = routeOptions.bodyLimit;
    this.#declared = length === undefined ? undefined : Number(length);
    this.#held = heldBody;
  }

  /**
   * @throws an error of Fastify with the status 400 or 413; GaplessError `malformed_request`, or as `HeldBody`. Without
   *   room, it throws once the body is over: a client that still sends would not read its answer.
   */
  read(payload: IncomingMessage): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const stop = (error: Error) => {
        payload.off('data', onData).off('end', onEnd).off('error', onError);
        // What still comes is dropped, until the connection is closed.
        payload.on('error', () => undefined).resume();
        reject(error);
      };
      const onError = (error: Error) => {
        stop(Object.assign(error, { statusCode: 400 }));
      };
      const onData = (chunk: Buffer) => {
        try {
          this.#add(chunk);
        } catch (error) {
          stop(error as Error);
        }
      };
      const onEnd = () => {
        try {
          resolve(this.#whole());
        } catch (error) {
          stop(error as Error);
        }
      };
      this.#expect(this.#declared ?? 0);
      payload.on('data', onData).on('end', onEnd).on('error', onError);
    });
  }

  #expect(bytes: number): void {
    if (bytes > this.#limit) throw new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE();
    if (bytes > this.#buffer.length && this.#refusal === null) this.#makeRoom(bytes);
  }

  #add(chunk: Buffer): void {
    const end = this.#bytes + chunk.length;
    this.#expect(end);
    if (++this.#chunks > FEW_CHUNKS + end / BYTES_OF_A_CHUNK) throw tooManyChunks();
    if (this.#refusal === null) chunk.copy(this.#buffer, this.#bytes);
    this.#bytes = end;
  }

  #makeRoom(bytes: number): void {
    const room = Math.min(this.#declared ?? Math.max(bytes, 2 * this.#buffer.length, FIRST_BYTES), this.#limit);
    try {
      this.#held?.grow(room - this.#buffer.length);
    } catch (error) {
      this.#refusal = error as Error;
      this.#buffer = Buffer.alloc(0);
      return;
    }
    const larger = Buffer.allocUnsafe(room);
    this.#buffer.copy(larger, 0, 0, this.#bytes);
    this.#buffer = larger;
  }

  #whole(): Buffer {
    if (this.#refusal !== null) throw this.#refusal;
    if (this.#declared !== undefined && this.#declared !== this.#bytes) {
      throw new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH();
    }
    return this.#buffer.subarray(0, this.#bytes);
  }
}

function tooManyChunks(): GaplessError {
  return new GaplessError('malformed_request', 'The body comes in too many small chunks. Send larger ones.');
}
