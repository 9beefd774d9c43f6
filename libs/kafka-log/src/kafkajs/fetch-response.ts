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

interface AbortedTransaction {
  readonly producerId: string;
  readonly firstOffset: string;
}

export interface PartitionResponse {
  readonly partition: number;
  readonly errorCode: number;
  readonly highWatermark: string;
  readonly lastStableOffset: string;
  readonly lastStartOffset: string;
  readonly abortedTransactions: readonly AbortedTransaction[];
  readonly preferredReadReplica: number;
  readonly messages: readonly FetchedMessage[];
}

export type FetchedMessage = Omit<KafkaMessage, 'size'> & {
  /** Why nothing can be read from its offset on; it is no message then. */
  readonly unreadable?: Error;
};

/** kafkajs' decoding of the records of a partition. The records come after the count of their bytes. */
export type DecodeRecords = (sized: Buffer) => Promise<readonly FetchedMessage[]>;

/** The first offset that was asked for. */
export type FetchOffsetOf = (topic: string, partition: number) => number;

const TWO_TO_32 = 2 ** 32;
const APPEND_TIME_FLAG = 0x08;
/** Compressed, of a transaction, or written by the broker itself. */
const UNUSUAL_FLAGS = 0x07 | 0x10 | 0x20;

/**
 * Reads a Fetch response, each record in one pass. Keys, values and headers are views of `bytes`. kafkajs reads the batches
 * that Gapless does not write: those with an old magic, compressed ones and those of transactions. A batch that neither
 * can read becomes an `unreadable` message of its partition, so that the other partitions are read.
 */
export async function decodeFetch(
  bytes: Buffer,
  decodeRecords: DecodeRecords,
  fetchOffsetOf: FetchOffsetOf,
): Promise<FetchResponse> {
  const reader = new Reader(bytes);
  const clientSideThrottleTime = reader.int32();
  const errorCode = reader.int16();
  const sessionId = reader.int32();
  const responses: TopicResponse[] = [];
  for (let topics = reader.int32(); topics > 0; topics--) {
    const topicName = reader.text(reader.int16());
    const partitions: PartitionResponse[] = [];
    for (let left = reader.int32(); left > 0; left--) {
      const read = readPartition(reader);
      if (read.unusual === undefined) partitions.push(read.response);
      else {
        const fetchOffset = fetchOffsetOf(topicName, read.response.partition);
        partitions.push(await readUnusual(read.response, read.unusual, read.damage, decodeRecords, fetchOffset));
      }
    }
    responses.push({ topicName, partitions });
  }
  return { throttleTime: 0, clientSideThrottleTime, errorCode, sessionId, responses };
}

interface PartitionReading {
  /** Without messages where there is something unusual in it. */
  readonly response: PartitionResponse;
  /** The records and the count of their bytes. */
  readonly unusual?: Buffer;
  /** Why the records are not what a broker sends, if they are not. */
  readonly damage?: Error;
}

function readPartition(reader: Reader): PartitionReading {
  const partition = reader.int32();
  const errorCode = reader.int16();
  const highWatermark = String(reader.int64());
  const lastStableOffset = String(reader.int64());
  const lastStartOffset = String(reader.int64());
  const abortedTransactions: AbortedTransaction[] = [];
  for (let left = reader.int32(); left > 0; left--) {
    abortedTransactions.push({ producerId: reader.bigInt64(), firstOffset: reader.bigInt64() });
  }
  const preferredReadReplica = reader.int32();
  const start = reader.at;
  const end = start + INT32 + Math.max(0, reader.int32());
  let messages: readonly FetchedMessage[] | undefined;
  let damage: Error | undefined;
  try {
    messages = abortedTransactions.length > 0 && end > reader.at ? undefined : readBatches(reader, end);
  } catch (error) {
    damage = asError(error);
  }
  reader.at = end;
  const response = {
    partition,
    errorCode,
    highWatermark,
    lastStableOffset,
    lastStartOffset,
    abortedTransactions,
    preferredReadReplica,
    messages: messages ?? [],
  };
  if (messages !== undefined) return { response };
  return { response, unusual: reader.slice(start, end), ...(damage === undefined ? {} : { damage }) };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** By kafkajs; if it cannot read it either, what comes before the batch that is to blame, or else an `unreadable` message. */
async function readUnusual(
  response: PartitionResponse,
  sized: Buffer,
  damage: Error | undefined,
  decodeRecords: DecodeRecords,
  fetchOffset: number,
): Promise<PartitionResponse> {
  try {
    if (damage !== undefined) throw damage;
    return { ...response, messages: await decodeRecords(sized) };
  } catch (error) {
    const unreadable = asError(error);
    const wanted = ({ offset }: FetchedMessage) => Number(offset) >= fetchOffset;
    const { messages, nextOffset } = response.abortedTransactions.length > 0 ? NOTHING : readUpToUnusual(sized);
    if (messages.some(wanted)) return { ...response, messages };
    const offset = String(Math.max(fetchOffset, nextOffset));
    const message = { attributes: 0, timestamp: '0', offset, key: null, value: null, headers: {}, unreadable };
    return { ...response, abortedTransactions: [], messages: [message] };
  }
}

interface ReadPart {
  readonly messages: readonly FetchedMessage[];
  /** Where what could not be read begins. */
  readonly nextOffset: number;
}

const NOTHING: ReadPart = { messages: [], nextOffset: 0 };

function readUpToUnusual(sized: Buffer): ReadPart {
  const messages: FetchedMessage[] = [];
  const reader = new Reader(sized);
  reader.at = INT32;
  let nextOffset = 0;
  while (sized.length - reader.at >= BATCH.records) {
    nextOffset = reader.int64();
    reader.at -= INT64;
    const before = messages.length;
    try {
      if (readNextBatch(reader, sized.length, messages) === 'read') continue;
    } catch {
      // The first reader of this batch has reported it.
    }
    messages.length = before;
    break;
  }
  return { messages, nextOffset };
}

/**
 * @returns `undefined` if there is something in it that cannot be read here
 * @throws if it is not what a broker sends
 */
function readBatches(reader: Reader, end: number): FetchedMessage[] | undefined {
  const messages: FetchedMessage[] = [];
  while (end - reader.at >= BATCH.records) {
    const found = readNextBatch(reader, end, messages);
    if (found === 'unusual') return undefined;
    if (found === 'cut_off') break;
  }
  return messages;
}

/** The broker cuts off the last batch where the response gets too long; what is cut off comes again. */
function readNextBatch(reader: Reader, end: number, messages: FetchedMessage[]): 'read' | 'unusual' | 'cut_off' {
  const start = reader.at;
  const baseOffset = reader.int64();
  const batchEnd = start + UNCOUNTED_BYTES + reader.int32();
  if (batchEnd < start + BATCH.records) throw new Error(`the batch at offset ${baseOffset} is damaged`);
  if (batchEnd > end) return 'cut_off';
  if (!readBatch(reader, start, baseOffset, batchEnd, messages)) return 'unusual';
  reader.at = batchEnd;
  return 'read';
}

/** @returns whether it is one that can be read here */
function readBatch(
  reader: Reader,
  start: number,
  baseOffset: number,
  batchEnd: number,
  messages: FetchedMessage[],
): boolean {
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
    if (end < reader.at || end > batchEnd) throw new Error(`a record after offset ${baseOffset} is damaged`);
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

  /** Ids take up all 64 bits. */
  bigInt64(): string {
    this.at += INT64;
    return String(this.bytes.readBigInt64BE(this.at - INT64));
  }

  slice(start: number, end: number): Buffer {
    return this.bytes.subarray(start, end);
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

  /** The bytes after their length. A length of -1 means none. */
  sized(): Buffer | null {
    const length = this.varInt();
    if (length < 0) return null;
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}
