import { connect } from 'node:net';

/** A request to a broker, in the format of Kafka's older request versions. */
export class RequestBody {
  readonly #parts: Buffer[] = [];

  int16(value: number): this {
    const bytes = Buffer.alloc(2);
    bytes.writeInt16BE(value);
    return this.#add(bytes);
  }

  int8(value: number): this {
    return this.#add(Buffer.from([value]));
  }

  int32(value: number): this {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(value);
    return this.#add(bytes);
  }

  /** Writes a string; `null` as a null string, which has length -1. */
  text(value: string | null): this {
    if (value === null) return this.int16(-1);
    const bytes = Buffer.from(value);
    return this.int16(bytes.length).#add(bytes);
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #add(bytes: Buffer): this {
    this.#parts.push(bytes);
    return this;
  }
}

/** Reads a broker's response from start to end. */
export class AnswerReader {
  #at = 0;

  constructor(private readonly bytes: Buffer) {}

  int16(): number {
    this.#at += 2;
    return this.bytes.readInt16BE(this.#at - 2);
  }

  int32(): number {
    this.#at += 4;
    return this.bytes.readInt32BE(this.#at - 4);
  }

  text(): string {
    return this.#take(this.int16()).toString();
  }

  skip(bytes: number): void {
    this.#at += bytes;
  }

  skipBytes(): void {
    this.#take(this.int32());
  }

  /** Reads an array: its count, then each element by `read`. */
  list<T>(read: () => T): readonly T[] {
    return Array.from({ length: Math.max(0, this.int32()) }, read);
  }

  #take(length: number): Buffer {
    const start = this.#at;
    // A null value has length -1.
    this.#at += Math.max(0, length);
    return this.bytes.subarray(start, this.#at);
  }
}

const TIMEOUT_MS = 3_000;
const CORRELATION_ID = 1;

/** Sends one request to one broker. @throws when the broker cannot be reached, or does not answer in time */
export function askKafka(
  port: number,
  request: { readonly api: number; readonly version: number; readonly body: RequestBody },
): Promise<AnswerReader> {
  const head = new RequestBody().int16(request.api).int16(request.version).int32(CORRELATION_ID).text('gapless-start');
  const bytes = Buffer.concat([head.bytes, request.body.bytes]);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: TIMEOUT_MS });
    let answer = Buffer.alloc(0);
    socket.once('connect', () => socket.write(Buffer.concat([new RequestBody().int32(bytes.length).bytes, bytes])));
    socket.on('data', (chunk) => {
      answer = Buffer.concat([answer, chunk]);
      if (answer.length < 4 || answer.length < 4 + answer.readInt32BE()) return;
      socket.destroy();
      // Skip the size and the correlation id.
      resolve(new AnswerReader(answer.subarray(8)));
    });
    socket.once('timeout', () => socket.destroy(new Error(`Kafka on port ${port} does not answer`)));
    socket.once('error', reject);
    socket.once('close', () => {
      reject(new Error(`Kafka on port ${port} closed the connection`));
    });
  });
}
