import type { IHeaders, KafkaMessage } from 'kafkajs';
import { BATCH, INT16, INT32, INT64, MAGIC, UNCOUNTED_BYTES } from './record-batch-layout.js';

/** A Fetch response of version 11, as kafkajs goes on with it. */
export interface FetchResponse {
  /** Always 0: kafkajs waits by itself for what follows. */
  readonly throttleTime: number;
  /** Milliseconds for which the broker wants to be left alone. */
  readonly clientSideThrottleTime: number;
  readonly errorCode: number;
  readonly sessionId: number;
  readonly responses: readonly TopicResponse[];
}

export interface TopicResponse {
  readonly topicName: string;
  readonly partitions: readonly PartitionResponse[];
}

export interface PartitionResponse {
  readonly partition: number;
  readonly errorCode: number;
  readonly highWatermark: string;
  readonly lastStableOffset: string;
  readonly lastStartOffset: string;
  readonly abortedTransactions: readonly never[];
  readonly preferredReadReplica: number;
  readonly messages: readonly FetchedMessage[];
}

export type FetchedMessage = Omit<KafkaMessage, 'size'>;

const TWO_TO_32 = 2 ** 32;
const APPEND_TIME_FLAG = 0x08;
/** Compressed, of a transaction, or written by the broker itself. */
const UNUSUAL_FLAGS = 0x07 | 0x10 | 0x20;

/**
 * Reads a Fetch response, each record in one pass; keys, values and headers are views of `bytes`.
 * @returns `undefined` where something is in it that Gapless does not write: batches of an old magic, compressed ones and
 * those of transactions
 */
export function decodeFetch(bytes: Buffer): FetchResponse | undefined {
  const reader = new Reader(bytes);
  const clientSideThrottleTime = reader.int32();
  const errorCode = reader.int16();
  const sessionId = reader.int32();
  const responses: TopicResponse[] = [];
  for (let topics = reader.int32(); topics > 0; topics--) {
    const topicName = reader.text(reader.int16());
    const partitions: PartitionResponse[] = [];
    for (let left = reader.int32(); left > 0; left--) {
      const partition = readPartition(reader);
      if (partition === undefined) return undefined;
      partitions.push(partition);
    }
    responses.push({ topicName, partitions });
  }
  return { throttleTime: 0, clientSideThrottleTime, errorCode, sessionId, responses };
}

function readPartition(reader: Reader): PartitionResponse | undefined {
  const partition = reader.int32();
  const errorCode = reader.int16();
  const highWatermark = String(reader.int64());
  const lastStableOffset = String(reader.int64());
  const lastStartOffset = String(reader.int64());
  if (reader.int32() > 0) return undefined;
  const preferredReadReplica = reader.int32();
  const messages = readBatches(reader, reader.int32());
  if (messages === undefined) return undefined;
  return {
    partition,
    errorCode,
    highWatermark,
    lastStableOffset,
    lastStartOffset,
    abortedTransactions: [],
    preferredReadReplica,
    messages,
  };
}

/** The broker cuts off the last batch where the response gets too long; what is cut off comes again. */
function readBatches(reader: Reader, bytes: number): FetchedMessage[] | undefined {
  const messages: FetchedMessage[] = [];
  const end = reader.at + Math.max(0, bytes);
  while (end - reader.at >= BATCH.records) {
    const start = reader.at;
    const baseOffset = reader.int64();
    const batchEnd = start + UNCOUNTED_BYTES + reader.int32();
    if (batchEnd > end) break;
    if (!readBatch(reader, start, baseOffset, messages)) return undefined;
    reader.at = batchEnd;
  }
  reader.at = end;
  return messages;
}

/** @returns whether it is one that can be read here */
function readBatch(reader: Reader, start: number, baseOffset: number, messages: FetchedMessage[]): boolean {
  reader.at = start + BATCH.magic;
  if (reader.int8() !== MAGIC) return false;
  reader.at = start + BATCH.attributes;
  const attributes = reader.int16();
  if ((attributes & UNUSUAL_FLAGS) !== 0) return false;
  reader.at = start + BATCH.firstTimestamp;
  const firstTimestamp = reader.int64();
  const maxTimestamp = reader.int64();
  const appendTime = (attributes & APPEND_TIME_FLAG) === 0 ? undefined : String(maxTimestamp);
  reader.at = start + BATCH.recordCount;
  for (let left = reader.int32(); left > 0; left--) {
    const end = reader.varInt() + reader.at;
    const recordAttributes = reader.int8();
    const timestampDelta = reader.varInt();
    const offset = baseOffset + reader.varInt();
    messages.push({
      attributes: recordAttributes,
      timestamp: appendTime ?? String(firstTimestamp + timestampDelta),
      offset: String(offset),
      key: reader.sized(),
      value: reader.sized(),
      headers: readHeaders(reader),
    });
    reader.at = end;
  }
  return true;
}

function readHeaders(reader: Reader): IHeaders {
  const headers: IHeaders = {};
  for (let left = reader.varInt(); left > 0; left--) {
    const name = reader.text(reader.varInt());
    // Without a value it is `null`, which kafkajs' type of headers leaves out.
    const value = reader.sized() as Buffer;
    const before = headers[name];
    if (before === undefined) headers[name] = value;
    else headers[name] = Array.isArray(before) ? [...before, value] : [before, value];
  }
  return headers;
}

/** Reads one value after the other. */
class Reader {
  at = 0;

  constructor(private readonly bytes: Buffer) {}

  int8(): number {
    return this.bytes.readInt8(this.at++);
  }

  int16(): number {
    this.at += INT16;
    return this.bytes.readInt16BE(this.at - INT16);
  }

  int32(): number {
    this.at += INT32;
    return this.bytes.readInt32BE(this.at - INT32);
  }

  /** Offsets and times fit into 53 bits. */
  int64(): number {
    this.at += INT64;
    return this.bytes.readInt32BE(this.at - INT64) * TWO_TO_32 + this.bytes.readUInt32BE(this.at - INT32);
  }

  /** Zig-zag coded, of up to 53 bits. */
  varInt(): number {
    const { bytes } = this;
    let byte = bytes[this.at++] ?? 0;
    if (byte < 128) return (byte >>> 1) ^ -(byte & 1);
    let bits = byte & 0x7f;
    let factor = 128;
    do {
      byte = bytes[this.at++] ?? 0;
      bits += (byte & 0x7f) * factor;
      factor *= 128;
    } while (byte >= 128);
    return bits % 2 === 0 ? bits / 2 : -(bits + 1) / 2;
  }

  text(length: number): string {
    this.at += length;
    return this.bytes.toString('utf8', this.at - length, this.at);
  }

  /** What comes behind its length; -1 stands for nothing. */
  sized(): Buffer | null {
    const length = this.varInt();
    if (length < 0) return null;
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}
