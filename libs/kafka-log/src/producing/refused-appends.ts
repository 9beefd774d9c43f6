import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { recordBytes, type NewRecord } from '../records/record.js';
import { PRODUCE_BYTES, PRODUCE_RECORDS } from '../topics/limits.js';
import { placeName, RecordSender, type Refusal, type Refused } from './record-sender.js';

/** Records that are appended together. */
export interface Append {
  readonly records: readonly NewRecord[];
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** A partition that refused records, and the appends that wait for it, in order. */
interface Line {
  readonly topic: string;
  readonly partition: number;
  /** They have records for this partition only. */
  readonly waiting: Append[];
  /** How often in a row the partition has refused. */
  refusals: number;
  /** When it is tried again, in milliseconds of the monotonic clock. */
  dueAt: number;
}

/** Records of an append by the lines that take them. */
type Taken = Map<Line, NewRecord[]>;

/** As kafkajs waits between its retries. */
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 1_000;
/** How often to look for a line that is due earlier, milliseconds. */
const LOOK_EVERY_MS = 100;

/**
 * Appends the records of partitions that refuse them, apart from the others. Each partition has requests of its own until
 * it has taken all that waits for it. An append is rejected after a few refusals; the next ones after one.
 */
export class RefusedAppends {
  readonly #lines = new Map<string, Line>();
  readonly #sender: RecordSender;
  #sending: Promise<void> | null = null;

  constructor(
    private readonly connection: KafkaConnection,
    private readonly retries: number,
  ) {
    this.#sender = new RecordSender(connection, retries);
  }

  /**
   * Takes the records of partitions that refused records just now.
   * @returns the append of its other records; `null` if there are none
   */
  takeFrom(append: Append, placeOf: (record: NewRecord) => string | undefined): Append | null {
    if (this.#lines.size === 0) return append;
    const taken: Taken = new Map();
    const others = append.records.filter((record) => {
      const line = this.#lines.get(placeOf(record) ?? '');
      if (line !== undefined) take(taken, line, record);
      return line === undefined;
    });
    return taken.size === 0 ? append : this.#wait(append, taken, others);
  }

  /** Settles an append that was sent: takes its refused records, or resolves it if there are none. */
  settle(append: Append, refused: Refused): void {
    const taken: Taken = new Map();
    for (const record of refused.size === 0 ? [] : append.records) {
      const refusal = refused.get(record);
      if (refusal !== undefined) take(taken, this.#lineOf(refusal), record);
    }
    if (taken.size === 0) append.resolve();
    else this.#wait(append, taken, []);
  }

  /** Resolves once no append waits. */
  async close(): Promise<void> {
    while (this.#sending !== null) await this.#sending;
    await this.#sender.disconnect();
  }

  /** Lets the taken records wait in their lines. @returns the append of the others; `null` if there are none */
  #wait(append: Append, taken: Taken, others: readonly NewRecord[]): Append | null {
    const ends = endsTogether(append, taken.size + Math.min(others.length, 1));
    for (const [line, records] of taken) line.waiting.push({ ...ends, records, bytes: bytesOf(records) });
    this.#sending ??= this.#sendAll();
    return others.length === 0 ? null : { ...ends, records: others, bytes: bytesOf(others) };
  }

  #lineOf({ topic, partition, error }: Refusal): Line {
    const place = placeName(topic, partition);
    let line = this.#lines.get(place);
    if (line === undefined) {
      line = { topic, partition, waiting: [], refusals: 0, dueAt: 0 };
      this.#lines.set(place, line);
      this.connection.logger.error({ topic, partition, err: error }, 'partition.refuses_records');
      this.#hasRefused(line);
    }
    return line;
  }

  #hasRefused(line: Line): void {
    line.dueAt = performance.now() + Math.min(FIRST_WAIT_MS * 2 ** line.refusals, LONGEST_WAIT_MS);
    line.refusals++;
  }

  async #sendAll(): Promise<void> {
    for (let line = this.#next(); line !== undefined; line = this.#next()) {
      const waitMs = line.dueAt - performance.now();
      if (waitMs > 0) await delay(Math.min(waitMs, LOOK_EVERY_MS));
      else await this.#sendOf(line);
    }
    if (this.#lines.size === 0) void this.#sender.disconnect().catch(() => undefined);
    // In the same turn as the check for waiting appends, so that later ones start a new send.
    this.#sending = null;
  }

  /** Returns the line that is due first. */
  #next(): Line | undefined {
    let next: Line | undefined;
    for (const line of this.#lines.values()) {
      if (line.waiting.length > 0 && line.dueAt < (next?.dueAt ?? Infinity)) next = line;
    }
    return next;
  }

  async #sendOf(line: Line): Promise<void> {
    const batch = takeBatch(line);
    let refused: Refused;
    try {
      refused = await this.#sender.send(
        batch.flatMap(({ records }) => records),
        batch.reduce((sum, { bytes }) => sum + bytes, 0),
      );
    } catch (error) {
      for (const append of batch) append.reject(error);
      // It failed as a whole, and all lines wait for the same brokers.
      for (const { waiting } of this.#lines.values()) for (const append of waiting.splice(0)) append.reject(error);
      return;
    }
    const again: Append[] = [];
    for (const append of batch) {
      const records = append.records.filter((record) => refused.has(record));
      if (records.length === 0) append.resolve();
      else again.push({ ...append, records, bytes: bytesOf(records) });
    }
    line.waiting.unshift(...again);
    const [refusal] = refused.values();
    if (refusal === undefined) this.#hasTaken(line);
    else this.#hasRefusedAgain(line, refusal);
  }

  #hasTaken(line: Line): void {
    line.refusals = 0;
    // After the other lines that are due.
    line.dueAt = performance.now();
    if (line.waiting.length > 0) return;
    this.#lines.delete(placeName(line.topic, line.partition));
    this.connection.logger.info({ topic: line.topic, partition: line.partition }, 'partition.takes_records');
  }

  #hasRefusedAgain(line: Line, { error }: Refusal): void {
    this.#hasRefused(line);
    if (line.refusals <= this.retries) return;
    for (const append of line.waiting.splice(0)) append.reject(error);
  }
}

/** Takes as many appends as fill a request, at least one. */
function takeBatch(line: Line): readonly Append[] {
  let [bytes, records, count] = [0, 0, 0];
  for (const append of line.waiting) {
    if (count > 0 && (bytes >= PRODUCE_BYTES || records >= PRODUCE_RECORDS)) break;
    bytes += append.bytes;
    records += append.records.length;
    count++;
  }
  return line.waiting.splice(0, count);
}

function take(taken: Taken, line: Line, record: NewRecord): void {
  const placed = { ...record, partition: line.partition };
  const records = taken.get(line);
  if (records === undefined) taken.set(line, [placed]);
  else records.push(placed);
}

/** Settles an append once all of its parts are settled. It is rejected with the first error. */
function endsTogether(append: Append, parts: number): Pick<Append, 'resolve' | 'reject'> {
  const errors: unknown[] = [];
  let open = parts;
  const end = () => {
    if (--open > 0) return;
    if (errors.length === 0) append.resolve();
    else append.reject(errors[0]);
  };
  return {
    resolve: end,
    reject: (error) => {
      errors.push(error);
      end();
    },
  };
}

function bytesOf(records: readonly NewRecord[]): number {
  return records.reduce((sum, record) => sum + recordBytes(record), 0);
}
