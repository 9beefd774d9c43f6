import { createRequire } from 'node:module';

const crc32C = createRequire(import.meta.url)('kafkajs/src/protocol/recordBatch/crc32C/index.js') as (
  bytes: Buffer,
) => number;

/** A record in bytes that a client library would not write. */
export interface RawRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** Names may come again; a value may be missing. */
  readonly headers?: readonly (readonly [string, Buffer | null])[];
}

/** What happens to the records of a batch, and what its attributes say of it. */
export interface Packing {
  readonly attributes: number;
  readonly pack: (records: Buffer) => Buffer;
}

const PLAIN: Packing = { attributes: 0, pack: (records) => records };

function varInt(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value < 0 ? -value * 2 - 1 : value * 2;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Buffer.from([...bytes, rest]);
}

function sized(bytes: Buffer | null): readonly Buffer[] {
  return bytes === null ? [varInt(-1)] : [varInt(bytes.length), bytes];
}

function recordBytes({ key, value, headers = [] }: RawRecord, index: number): Buffer {
  const parts: Buffer[] = [Buffer.alloc(1), varInt(0), varInt(index), ...sized(key), ...sized(value)];
  parts.push(varInt(headers.length));
  for (const [name, held] of headers) parts.push(...sized(Buffer.from(name)), ...sized(held));
  const body = Buffer.concat(parts);
  return Buffer.concat([varInt(body.length), body]);
}

/** A batch of magic 2, written by no client library. */
export function recordBatch(records: readonly RawRecord[], timestampMs: number, packing: Packing = PLAIN): Buffer {
  const packed = packing.pack(Buffer.concat(records.map(recordBytes)));
  const head = Buffer.alloc(61);
  head.writeInt32BE(61 + packed.length - 12, 8);
  head.writeInt8(2, 16);
  head.writeInt16BE(packing.attributes, 21);
  head.writeInt32BE(records.length - 1, 23);
  head.writeBigInt64BE(BigInt(timestampMs), 27);
  head.writeBigInt64BE(BigInt(timestampMs), 35);
  head.writeBigInt64BE(-1n, 43);
  head.writeInt16BE(-1, 51);
  head.writeInt32BE(-1, 53);
  head.writeInt32BE(records.length, 57);
  const batch = Buffer.concat([head, packed]);
  batch.writeUInt32BE(crc32C(batch.subarray(21)) >>> 0, 17);
  return batch;
}
