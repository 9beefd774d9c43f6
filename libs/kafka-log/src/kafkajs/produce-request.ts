import { crc32c } from '@node-rs/crc32';
import type { IHeaders, Message } from 'kafkajs';
import { BATCH, INT16, INT32, MAGIC, UNCOUNTED_BYTES } from './record-batch-layout.js';

/** Records for one partition. */
export interface PartitionData {
  readonly partition: number;
  /** For an idempotent producer: the number of the first record in the producer's sequence for the partition. */
  readonly firstSequence?: number | undefined;
  readonly messages: readonly Message[];
}

export interface TopicData {
  readonly topic: string;
  readonly partitions: readonly PartitionData[];
}

/** The content of a Produce request, versions 3 to 7. */
export interface ProduceRequest {
  /** -1: wait for all in-sync replicas. */
  readonly acks: number;
  /** How long the broker may wait for the replicas, milliseconds. */
  readonly timeout: number;
  readonly topicData: readonly TopicData[];
  /** 0 or missing: not compressed. */
  readonly compression?: number | undefined;
  readonly transactionalId?: string | null | undefined;
  /** -1 or missing: the producer is not idempotent. kafkajs passes other ids as text. */
  readonly producerId?: string | number | undefined;
  readonly producerEpoch?: number | undefined;
}

/** The fields by which brokers recognize a repeated batch. */
interface Origin {
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

type Bytes = string | Buffer | null;

/** Transactional id, acks, timeout and the number of topics. */
const REQUEST_HEAD_BYTES = INT16 + INT16 + INT32 + INT32;
/** Partition and the size of its batch. */
const PARTITION_HEAD_BYTES = INT32 + INT32;
/** The bytes of a record's attributes and of its timestamp difference, which is 0. */
const RECORD_CONSTANT_BYTES = 2;
const NONE = -1;
const NO_NAMES: readonly string[] = [];

/**
 * Writes a Produce request into one buffer, each record once, as batches of magic 2 with the time `timestampMs`.
 * @returns `undefined` for requests that Gapless does not send: compressed or transactional ones, own timestamps, or
 *   lists of header values
 */
export function encodeProduce(request: ProduceRequest, timestampMs: number): Buffer | undefined {
  if (!isPlain(request)) return undefined;
  const { acks, timeout, topicData } = request;
  const origin = { producerId: BigInt(request.producerId ?? -1), producerEpoch: request.producerEpoch ?? 0 };
  const sizes = new RecordSizes(topicData);
  const buffer = Buffer.allocUnsafe(sizes.requestBytes);
  let at = buffer.writeInt16BE(NONE, 0);
  at = buffer.writeInt16BE(acks, at);
  at = buffer.writeInt32BE(timeout, at);
  at = buffer.writeInt32BE(topicData.length, at);
  for (const { topic, partitions } of topicData) {
    at = buffer.writeInt16BE(Buffer.byteLength(topic), at);
    at += buffer.write(topic, at);
    at = buffer.writeInt32BE(partitions.length, at);
    for (const data of partitions) {
      at = buffer.writeInt32BE(data.partition, at);
      at = writeBatch(buffer, at + INT32, data, origin, sizes, timestampMs);
    }
  }
  return buffer;
}

function isPlain({ compression = 0, transactionalId = null, topicData }: ProduceRequest): boolean {
  return (
    compression === 0 &&
    transactionalId === null &&
    topicData.every(({ partitions }) => partitions.every(({ messages }) => messages.every(isPlainMessage)))
  );
}

function isPlainMessage({ timestamp, headers }: Message): boolean {
  if (timestamp !== undefined) return false;
  return namesOf(headers).every((name) => !Array.isArray(headers?.[name]));
}

/** The sizes of a request's parts. `next` returns the records' sizes in the order in which they were measured. */
class RecordSizes {
  readonly requestBytes: number;
  readonly #bodies: number[] = [];
  #next = 0;

  constructor(topicData: readonly TopicData[]) {
    let bytes = REQUEST_HEAD_BYTES;
    for (const { topic, partitions } of topicData) {
      bytes += INT16 + Buffer.byteLength(topic) + INT32;
      for (const { messages } of partitions) bytes += PARTITION_HEAD_BYTES + BATCH.records + this.#count(messages);
    }
    this.requestBytes = bytes;
  }

  /** Returns the size of the next record, without its length field. */
  next(): number {
    return this.#bodies[this.#next++] ?? 0;
  }

  #count(messages: readonly Message[]): number {
    let bytes = 0;
    let index = 0;
    for (const message of messages) {
      const body = bodyBytes(message, index++);
      this.#bodies.push(body);
      bytes += varIntBytes(body) + body;
    }
    return bytes;
  }
}

function bodyBytes({ key, value, headers }: Message, index: number): number {
  let bytes = RECORD_CONSTANT_BYTES + varIntBytes(index) + sizedBytes(key ?? null) + sizedBytes(value);
  const names = namesOf(headers);
  for (const name of names) bytes += sizedBytes(name) + sizedBytes(headers?.[name] as string | Buffer);
  return bytes + varIntBytes(names.length);
}

function namesOf(headers: IHeaders | undefined): readonly string[] {
  return headers === undefined ? NO_NAMES : Object.keys(headers);
}

function sizedBytes(bytes: Bytes): number {
  if (bytes === null) return 1;
  const length = lengthOf(bytes);
  return varIntBytes(length) + length;
}

function lengthOf(bytes: string | Buffer): number {
  return typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length;
}

/** @param value not negative */
function varIntBytes(value: number): number {
  let bytes = 1;
  for (let rest = value >>> 6; rest > 0; rest >>>= 7) bytes++;
  return bytes;
}

/** @returns the offset of the next partition in the buffer */
function writeBatch(
  buffer: Buffer,
  start: number,
  { messages, firstSequence = 0 }: PartitionData,
  { producerId, producerEpoch }: Origin,
  sizes: RecordSizes,
  timestampMs: number,
): number {
  let at = start + BATCH.records;
  let index = 0;
  for (const message of messages) at = writeRecord(buffer, at, message, index++, sizes.next());
  const timestamp = BigInt(timestampMs);
  buffer.writeInt32BE(at - start, start - INT32);
  buffer.writeBigInt64BE(0n, start + BATCH.baseOffset);
  buffer.writeInt32BE(at - start - UNCOUNTED_BYTES, start + BATCH.length);
  buffer.writeInt32BE(0, start + BATCH.leaderEpoch);
  buffer.writeInt8(MAGIC, start + BATCH.magic);
  buffer.writeInt16BE(0, start + BATCH.attributes);
  buffer.writeInt32BE(messages.length - 1, start + BATCH.lastOffsetDelta);
  buffer.writeBigInt64BE(timestamp, start + BATCH.firstTimestamp);
  buffer.writeBigInt64BE(timestamp, start + BATCH.maxTimestamp);
  buffer.writeBigInt64BE(producerId, start + BATCH.producerId);
  buffer.writeInt16BE(producerEpoch, start + BATCH.producerEpoch);
  buffer.writeInt32BE(firstSequence, start + BATCH.baseSequence);
  buffer.writeInt32BE(messages.length, start + BATCH.recordCount);
  buffer.writeUInt32BE(crc32c(buffer.subarray(start + BATCH.attributes, at)), start + BATCH.checksum);
  return at;
}

function writeRecord(buffer: Buffer, start: number, message: Message, index: number, bodySize: number): number {
  const { key, value, headers } = message;
  let at = writeVarInt(buffer, start, bodySize);
  buffer[at++] = 0;
  buffer[at++] = 0;
  at = writeVarInt(buffer, at, index);
  at = writeSized(buffer, at, key ?? null);
  at = writeSized(buffer, at, value);
  const names = namesOf(headers);
  at = writeVarInt(buffer, at, names.length);
  for (const name of names) {
    at = writeSized(buffer, at, name);
    at = writeSized(buffer, at, headers?.[name] as string | Buffer);
  }
  return at;
}

function writeSized(buffer: Buffer, start: number, bytes: Bytes): number {
  if (bytes === null) {
    buffer[start] = 1;
    return start + 1;
  }
  const length = lengthOf(bytes);
  const at = writeVarInt(buffer, start, length);
  if (typeof bytes !== 'string') buffer.set(bytes, at);
  // A text with as many bytes as characters is ASCII.
  else buffer.write(bytes, at, length, length === bytes.length ? 'latin1' : 'utf8');
  return at + length;
}

/** Writes a zig-zag varint, as all numbers of a record are. @param value not negative */
function writeVarInt(buffer: Buffer, start: number, value: number): number {
  let at = start;
  let rest = value * 2;
  while (rest >= 128) {
    buffer[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  buffer[at++] = rest;
  return at;
}
