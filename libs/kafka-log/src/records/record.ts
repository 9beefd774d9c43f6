import type { IHeaders, Message } from 'kafkajs';
import { OperatorError } from '#libs/domain';
import type { FetchedMessage, UnreadableBatch } from '../kafkajs/fetch-response.js';

export type RecordHeaders = Readonly<Record<string, string>>;

/** A record to append. If it names no partition, the key decides (murmur2, as in every Kafka client). */
export interface NewRecord {
  readonly topic: string;
  readonly key: string | Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: Readonly<Record<string, string | Buffer>>;
  readonly partition?: number;
}

/** A record of a topic. */
export interface StoredRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
  /** Epoch milliseconds. The topic's `message.timestamp.type` decides what it means. */
  readonly timestampMs: number;
  /**
   * Set if this is not a record, but an unreadable batch. Its bytes are the value, and its last offset is the offset.
   */
  readonly unreadable?: Pick<UnreadableBatch, 'reason' | 'firstOffset'>;
}

/**
 * A record that has the marks of Gapless cannot be read. It may be of a newer version or damaged, so nothing skips it.
 */
export class UnreadableRecordError extends OperatorError {
  override readonly name = 'UnreadableRecordError';

  /** @param marks what makes it look like a record of Gapless, such as "the key of a checkpoint" */
  constructor({ topic, partition, offset }: StoredRecord, marks: string, options?: ErrorOptions) {
    super(
      `${topic}/${partition}/${offset} has ${marks}, but cannot be read. See GaplessBatchesFail in docs/operate.md.`,
      options,
    );
  }
}

/** Records of one partition, in order, never empty. */
export interface RecordBatch {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly StoredRecord[];
  /** The end of the partition when the records were fetched; missing if they were read without a consumer group. */
  readonly partitionEnd?: number;
}

/** Estimates the record's size in a batch, bytes. */
export function recordBytes(record: Omit<NewRecord, 'topic'>): number {
  let bytes = 64 + (record.key?.length ?? 0) + (record.value?.length ?? 0);
  for (const [name, value] of Object.entries(record.headers ?? {})) bytes += name.length + bytesOf(value) + 4;
  return bytes;
}

/** Short texts count one byte a character, because nearly all are ASCII. */
function bytesOf(value: string | Buffer): number {
  return typeof value === 'string' && value.length > SHORT_TEXT ? Buffer.byteLength(value) : value.length;
}

const SHORT_TEXT = 1_024;

export function toMessage(record: NewRecord): Message {
  return {
    key: record.key,
    value: record.value,
    ...(record.headers === undefined ? {} : { headers: record.headers }),
    ...(record.partition === undefined ? {} : { partition: record.partition }),
  };
}

/** Of a header with several values the first counts; one without a value is left out. */
function headersOf(headers: IHeaders | undefined): RecordHeaders {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers ?? {})) {
    // kafkajs' type does not mention `null`.
    const first = (Array.isArray(value) ? value[0] : value) as string | Buffer | null | undefined;
    if (first !== undefined && first !== null) texts[name] = first.toString();
  }
  return texts;
}

/** Converts a fetched message to a record. An unreadable batch becomes a record, too: see `unreadable`. */
export function toStoredRecord(topic: string, partition: number, message: FetchedMessage): StoredRecord {
  const { unreadable } = message;
  if (unreadable !== undefined) {
    const { reason, firstOffset, bytes } = unreadable;
    return {
      topic,
      partition,
      offset: Number(message.offset),
      key: null,
      value: bytes,
      headers: {},
      timestampMs: Number(message.timestamp),
      unreadable: { reason, firstOffset },
    };
  }
  return {
    topic,
    partition,
    offset: Number(message.offset),
    key: message.key,
    value: message.value,
    headers: headersOf(message.headers),
    timestampMs: Number(message.timestamp),
  };
}

/** @throws if the message is an unreadable batch */
export function toReadableRecord(topic: string, partition: number, message: FetchedMessage): StoredRecord {
  const record = toStoredRecord(topic, partition, message);
  if (record.unreadable === undefined) return record;
  const { firstOffset, reason } = record.unreadable;
  throw new Error(`the batch in ${topic}/${partition} at offset ${firstOffset} cannot be read: ${reason}`);
}
