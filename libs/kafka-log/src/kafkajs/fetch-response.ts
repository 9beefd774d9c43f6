import type { IHeaders, KafkaMessage } from 'kafkajs';
import { messageOf } from '#libs/domain';
import { BATCH, INT16, INT32, INT64, MAGIC, UNCOUNTED_BYTES } from './record-batch-layout.js';
import { unpack } from './unpack.js';

/** A Fetch response of version 11, in kafkajs' form. */
export interface FetchResponse {
  /** Always 0, because kafkajs itself waits for `clientSideThrottleTime`. */
  readonly throttleTime: number;
  /** How long the broker asks the client to wait, milliseconds. */
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
  /** Set on transaction markers and on records of aborted transactions. kafkajs skips them. */
  readonly isControlRecord?: boolean;
  /**
   * Set instead of a record for an unreadable batch. The message has the batch's last offset, so that reading continues
   * after it.
   */
  readonly unreadable?: UnreadableBatch;
  /** Set instead of a record if the broker cannot read the partition. */
  readonly fetchError?: Error;
};

/** A batch that cannot be read. */
export interface UnreadableBatch {
  readonly reason: string;
  readonly firstOffset: number;
  /** The batch's bytes as the broker sent them. */
  readonly bytes: Buffer;
}

/** Decodes batches of an old magic by kafkajs. The input begins with its size. */
export type DecodeRecords = (sized: Buffer) => Promise<readonly FetchedMessage[]>;

/** Returns the first offset that was requested. */
export type FetchOffsetOf = (topic: string, partition: number) => number;

const TWO_TO_32 = 2 ** 32;
const APPEND_TIME_FLAG = 0x08;
const COMPRESSION_FLAGS = 0x07;
const TRANSACTION_FLAG = 0x10;
const CONTROL_FLAG = 0x20;
/** Compressed, part of a transaction, or written by the broker. */
const UNUSUAL_FLAGS = COMPRESSION_FLAGS | TRANSACTION_FLAG | CONTROL_FLAG;
/** The most headers to read of a record. Records of Gapless have a dozen; foreign ones can have a million. */
const MOST_HEADERS = 200;
/** The smallest record: its length, attributes, times, key, value and headers take at least a byte each. */
const LEAST_RECORD_BYTES = 7;

/**
 * Reads a Fetch response, each record in one pass; keys, values and headers are views of `bytes`. kafkajs reads batches
 * of an old magic. An unreadable batch becomes an `unreadable` message of its partition, so that the other partitions
 * can be read.
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
        partitions.push(await readUnusual(read.response, read.unusual, decodeRecords, fetchOffset));
      }
    }
    responses.push({ topicName, partitions });
  }
  return { throttleTime: 0, clientSideThrottleTime, errorCode, sessionId, responses };
}

interface PartitionReading {
  /** Without messages if the partition holds an unusual batch. */
  readonly response: PartitionResponse;
  /** The partition's batches, if one of them is unusual. */
  readonly unusual?: Buffer;
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
  const bytes = Math.max(0, reader.int32());
  const start = reader.at;
  const end = start + bytes;
  let messages: readonly FetchedMessage[] | undefined;
  try {
    messages = abortedTransactions.length > 0 && bytes > 0 ? undefined : readBatches(reader, end);
  } catch {
    // The partition is read again below, batch by batch.
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
  return messages === undefined ? { response, unusual: reader.slice(start, end) } : { response };
}

/**
 * Reads batches up to the first change between readable and unreadable ones. If requested records come first, it
 * returns those; otherwise the unreadable batches at the start.
 */
async function readUnusual(
  response: PartitionResponse,
  bytes: Buffer,
  decodeRecords: DecodeRecords,
  fetchOffset: number,
): Promise<PartitionResponse> {
  const aborted = new AbortedTransactions(response.abortedTransactions);
  const messages: FetchedMessage[] = [];
  const isWanted = ({ offset }: FetchedMessage) => Number(offset) >= fetchOffset;
  const answer = () => ({ ...response, abortedTransactions: [], messages });
  for (let at = 0; bytes.length - at >= BATCH.records;) {
    const batch = new BatchHead(bytes, at);
    if (batch.end > bytes.length) break;
    if (batch.end < at + BATCH.records) {
      if (!messages.some(isWanted)) {
        const unreadable = { reason: 'its length is damaged', firstOffset: fetchOffset, bytes: bytes.subarray(at) };
        messages.push(unreadableMessage(fetchOffset, 0, unreadable));
      }
      break;
    }
    at = batch.end;
    try {
      const read = await readAnyBatch(batch, aborted, decodeRecords);
      if (messages.some(({ unreadable, ...message }) => unreadable !== undefined && isWanted(message))) break;
      for (const message of read) messages.push(message);
    } catch (error) {
      if (messages.some((message) => message.unreadable === undefined && isWanted(message))) break;
      const reason = messageOf(error);
      const unreadable = { reason, firstOffset: batch.baseOffset, bytes: batch.bytes };
      messages.push(unreadableMessage(batch.lastOffset, batch.maxTimestamp, unreadable));
    }
  }
  return answer();
}

function unreadableMessage(offset: number, timestamp: number, unreadable: UnreadableBatch): FetchedMessage {
  const none = { attributes: 0, key: null, value: null, headers: {} };
  return { ...none, timestamp: String(timestamp), offset: String(offset), unreadable };
}

/** The head of a batch. */
class BatchHead {
  readonly baseOffset: number;
  readonly end: number;
  readonly bytes: Buffer;

  constructor(all: Buffer, start: number) {
    const reader = new Reader(all);
    reader.at = start;
    this.baseOffset = reader.int64();
    this.end = start + UNCOUNTED_BYTES + reader.int32();
    this.bytes = all.subarray(start, this.end);
  }

  get magic(): number {
    return this.bytes.readInt8(BATCH.magic);
  }

  get attributes(): number {
    return this.bytes.readInt16BE(BATCH.attributes);
  }

  /** In batches of an old magic, the first offset field is the last offset. */
  get lastOffset(): number {
    const delta = this.magic < MAGIC ? 0 : this.bytes.readInt32BE(BATCH.lastOffsetDelta);
    return this.baseOffset + Math.max(0, delta);
  }

  get maxTimestamp(): number {
    return this.magic < MAGIC ? 0 : Number(this.bytes.readBigInt64BE(BATCH.maxTimestamp));
  }

  get producerId(): string {
    return String(this.bytes.readBigInt64BE(BATCH.producerId));
  }
}

/** @throws if the batch cannot be read */
async function readAnyBatch(
  batch: BatchHead,
  aborted: AbortedTransactions,
  decodeRecords: DecodeRecords,
): Promise<readonly FetchedMessage[]> {
  if (batch.magic < MAGIC) return decodeRecords(sizedOf(batch.bytes));
  if (batch.magic > MAGIC) throw new Error(`its format ${batch.magic} is unknown`);
  const plain = await unpack(batch.bytes, batch.attributes & COMPRESSION_FLAGS);
  const messages: FetchedMessage[] = [];
  const reader = new Reader(plain);
  reader.at = BATCH.attributes;
  readRecords(reader, batch.baseOffset, plain.length, messages);
  const isControl = (batch.attributes & CONTROL_FLAG) !== 0;
  const isAborted = aborted.has(batch, messages);
  if (!isControl && !isAborted) return messages;
  return messages.map((message) => ({ ...message, isControlRecord: true }));
}

function sizedOf(batch: Buffer): Buffer {
  const size = Buffer.alloc(INT32);
  size.writeInt32BE(batch.length);
  return Buffer.concat([size, batch]);
}

/** Finds records of aborted transactions: from the first offset of each to its marker. */
class AbortedTransactions {
  readonly #ahead: AbortedTransaction[];
  readonly #open = new Set<string>();

  constructor(all: readonly AbortedTransaction[]) {
    this.#ahead = all.toSorted((a, b) => Number(a.firstOffset) - Number(b.firstOffset));
  }

  has(batch: BatchHead, messages: readonly FetchedMessage[]): boolean {
    while (Number(this.#ahead[0]?.firstOffset ?? Infinity) <= batch.lastOffset) {
      this.#open.add(this.#ahead.shift()?.producerId ?? '');
    }
    if ((batch.attributes & CONTROL_FLAG) !== 0) {
      if (messages.some(({ key }) => key?.equals(ABORT_MARKER) === true)) this.#open.delete(batch.producerId);
      return false;
    }
    return (batch.attributes & TRANSACTION_FLAG) !== 0 && this.#open.has(batch.producerId);
  }
}

/** The key of the marker that aborts a transaction: version 0, type 0. */
const ABORT_MARKER = Buffer.alloc(4);

/**
 * @returns `undefined` if a batch cannot be read here
 * @throws if the bytes are not valid
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

/** The broker cuts off the last batch if the response gets too long; the next fetch returns it. */
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

/** @returns whether the batch can be read here */
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
  reader.at = start + BATCH.attributes;
  readRecords(reader, baseOffset, batchEnd, messages);
  return true;
}

/** @param reader stands at the attributes of the batch */
function readRecords(reader: Reader, baseOffset: number, batchEnd: number, messages: FetchedMessage[]): void {
  const attributes = reader.int16();
  reader.at += INT32;
  const firstTimestamp = reader.int64();
  const maxTimestamp = reader.int64();
  const appendTime = (attributes & APPEND_TIME_FLAG) === 0 ? undefined : String(maxTimestamp);
  reader.at += BATCH.recordCount - BATCH.producerId;
  const count = reader.int32();
  if (count * LEAST_RECORD_BYTES > batchEnd - reader.at)
    throw new Error(`the batch at offset ${baseOffset} is damaged`);
  for (let left = count; left > 0; left--) {
    const length = reader.varInt();
    const end = length + reader.at;
    if (end < reader.at || end > batchEnd) throw new Error(`a record behind offset ${baseOffset} is damaged`);
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
}

function readHeaders(reader: Reader): IHeaders {
  const headers: IHeaders = {};
  for (let left = Math.min(reader.varInt(), MOST_HEADERS); left > 0; left--) {
    const name = reader.text(reader.varInt());
    // A header without a value is `null`, which kafkajs' type does not mention.
    const value = reader.sized() as Buffer;
    if (name in headers) addAgain(headers, name, value);
    else headers[name] = value;
  }
  return headers;
}

/** Adds a value to a header, also if its name is that of an object's member, such as `constructor`. */
function addAgain(headers: IHeaders, name: string, value: Buffer): void {
  const before = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (Array.isArray(before)) before.push(value);
  else {
    const all = before === undefined ? value : [before, value];
    Object.defineProperty(headers, name, { value: all, enumerable: true, configurable: true, writable: true });
  }
}

/** Reads values one after the other. */
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

  /** Reads a length and that many bytes. A length of -1 means null. */
  sized(): Buffer | null {
    const length = this.varInt();
    if (length < 0) return null;
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}
