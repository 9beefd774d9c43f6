import { setTimeout as delay } from 'node:timers/promises';
import { FairQueue } from './fair-queue.js';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { LARGEST_RECORD_BYTES, PRODUCE_BYTES, PRODUCE_RECORDS, REQUEST_BYTES } from '../topics/limits.js';
import { recordBytes, type NewRecord } from '../records/record.js';
import { RecordSender } from './record-sender.js';
import { RefusedAppends, type Append } from './refused-appends.js';

export interface AppenderOptions {
  /** How often a request is retried before `append` rejects. */
  readonly retries: number;
  /** How long records wait for others to share a request with, milliseconds; no wait by default. */
  readonly gatherMs?: number;
}

/** A record that the brokers would always refuse. No record of its append was sent. */
class RecordTooLargeError extends Error {
  override readonly name = 'RecordTooLargeError';
  constructor(topic: string, bytes: number) {
    super(`a record of ${bytes} bytes is too large for ${topic}, which takes ${LARGEST_RECORD_BYTES}`);
  }
}

/**
 * Appends records with `acks=all`. Calls during a request share the next one, so that many small appends take few round
 * trips. Callers may name a share for their records. Each share then gets the same part of the capacity, so that a
 * large one does not block the others. Calls wait for no timer, unless the appender is set to gather. An append too
 * large for one request is sent in several, one after the other; an ingest request is never that large. The broker
 * recognizes records that are sent again after a fault. A rejected append may have written some of its records. A
 * partition that refuses records delays only those, and their appends: the other records of an append are sent before.
 */
export class Appender {
  readonly #sender: RecordSender;
  readonly #refused: RefusedAppends;
  readonly #waiting = new FairQueue<Append>();
  #sending: Promise<void> | null = null;

  constructor(
    connection: KafkaConnection,
    private readonly options: AppenderOptions,
  ) {
    this.#sender = new RecordSender(connection, options.retries);
    this.#refused = new RefusedAppends(connection, options.retries);
    connection.metrics.add('gapless_produce_failures_total', {}, 0);
  }

  async connect(): Promise<void> {
    await this.#sender.connect();
  }

  /** Sends waiting records, then closes. */
  async close(): Promise<void> {
    while (this.#sending !== null) await this.#sending;
    await this.#refused.close();
    await this.#sender.disconnect();
  }

  /**
   * Resolves once the brokers have acknowledged all records.
   * @param share the share that the records count for; only records of the same share keep the order of the calls
   * @throws RecordTooLargeError
   */
  append(records: readonly NewRecord[], share = ''): Promise<void> {
    if (records.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const bytes = bytesOf(records);
      this.#waiting.add(share, bytes, { records, bytes, resolve, reject });
      this.#sending ??= this.#sendAll();
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gather();
      const { batch, bytes } = this.#takeBatch();
      if (batch.length === 0) continue;
      try {
        const refused = await this.#sender.send(
          batch.flatMap(({ records }) => records),
          bytes,
        );
        for (const append of batch) this.#refused.settle(append, refused);
      } catch (error) {
        for (const append of batch) append.reject(error);
      }
    }
    // In the same turn as the check for waiting records, so that later records start a new send.
    this.#sending = null;
  }

  /** Waits for more records. Appends in the same turn of the event loop always share a request. */
  async #gather(): Promise<void> {
    const { gatherMs = 0 } = this.options;
    if (gatherMs > 0 && this.#waiting.length < PRODUCE_RECORDS) await delay(gatherMs);
    else await Promise.resolve();
  }

  #takeBatch(): { readonly batch: readonly Append[]; readonly bytes: number } {
    let bytes = 0;
    let records = 0;
    const batch: Append[] = [];
    for (let next = this.#waiting.peek(); next !== undefined; next = this.#waiting.peek()) {
      if (batch.length > 0 && (bytes >= PRODUCE_BYTES || records >= PRODUCE_RECORDS)) break;
      if (batch.length > 0 && bytes + next.bytes > REQUEST_BYTES) break;
      this.#waiting.take();
      const append = this.#refused.takeFrom(next, (record) => this.#sender.placeOf(record));
      if (append === null) continue;
      bytes += append.bytes;
      records += append.records.length;
      batch.push(append);
    }
    return { batch, bytes };
  }
}

/** @throws RecordTooLargeError */
function bytesOf(records: readonly NewRecord[]): number {
  let sum = 0;
  for (const record of records) {
    const bytes = recordBytes(record);
    if (bytes > LARGEST_RECORD_BYTES) throw new RecordTooLargeError(record.topic, bytes);
    sum += bytes;
  }
  return sum;
}
