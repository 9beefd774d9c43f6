import type { IHeaders, KafkaMessage, Message } from 'kafkajs';

/** A record as a broker keeps it. */
export interface KeptRecord {
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: IHeaders;
}

function bytesOf(text: string | Buffer | null | undefined): Buffer | null {
  if (text === null || text === undefined) return null;
  return typeof text === 'string' ? Buffer.from(text) : text;
}

function headersOf(headers: IHeaders | undefined): IHeaders {
  const kept: IHeaders = {};
  for (const [name, value] of Object.entries(headers ?? {})) {
    kept[name] = typeof value === 'string' ? Buffer.from(value) : value;
  }
  return kept;
}

/** A producer that numbers its batches, as the broker remembers it in a partition. */
interface NumberedBatch {
  readonly first: number;
  readonly count: number;
  readonly baseOffset: number;
}

/** How many batches of a producer are remembered, so that a repeat is not taken for a gap. */
const REMEMBERED_BATCHES = 5;

export interface Numbering {
  readonly producerId: number;
  readonly sequence: number;
}

/** One partition of a topic on the disk of the broker. */
export class PartitionLog {
  records: KeptRecord[] = [];
  /** The first offset that is still kept. */
  start = 0;
  #end = 0;
  #producers = new Map<number, NumberedBatch[]>();

  constructor(
    readonly topic: string,
    readonly partition: number,
    private readonly appendTime: boolean,
  ) {}

  get end(): number {
    return this.#end;
  }

  /** @returns the offset of the first, or `out of order` for a numbered batch that does not follow the one before it */
  append(
    messages: readonly Message[],
    times: { readonly brokerMs: number; readonly producerMs: number },
    numbering?: Numbering,
  ): number | 'out of order' {
    const batches = numbering === undefined ? undefined : this.#batchesOf(numbering.producerId);
    if (batches !== undefined && numbering !== undefined) {
      const repeat = batches.find(({ first, count }) => first === numbering.sequence && count === messages.length);
      if (repeat !== undefined) return repeat.baseOffset;
      const latest = batches.at(-1);
      if (latest !== undefined && latest.first + latest.count !== numbering.sequence) return 'out of order';
    }
    const base = this.#end;
    for (const message of messages) {
      this.records.push({
        offset: this.#end++,
        timestampMs: this.appendTime ? times.brokerMs : Number(message.timestamp ?? times.producerMs),
        key: bytesOf(message.key),
        value: bytesOf(message.value),
        headers: headersOf(message.headers),
      });
    }
    if (batches !== undefined && numbering !== undefined) {
      batches.push({ first: numbering.sequence, count: messages.length, baseOffset: base });
      if (batches.length > REMEMBERED_BATCHES) batches.shift();
    }
    return base;
  }

  /** What a fetch from the offset is given, at most so many records. */
  read(offset: number, limit: number): readonly KeptRecord[] {
    const first = this.indexOf(offset);
    return this.records.slice(first, first + limit);
  }

  /** The first record at the offset or after it. */
  indexOf(offset: number): number {
    let low = 0;
    let high = this.records.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.records[middle]?.offset ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** What retention removed: it was there. */
  readonly pruned: KeptRecord[] = [];

  /** The topic goes back: what was appended from the offset on is gone. @returns that */
  cut(offset: number): readonly KeptRecord[] {
    const removed = this.records.splice(this.indexOf(offset));
    this.#end = Math.max(this.start, Math.min(this.#end, offset));
    this.#producers.clear();
    return removed;
  }

  /** The topic is deleted and created again. @returns what was in it */
  renew(): readonly KeptRecord[] {
    const removed = this.records;
    this.records = [];
    this.start = 0;
    this.#end = 0;
    this.#producers.clear();
    return removed;
  }

  /** Retention removes what stands before the offset. */
  prune(offset: number): void {
    this.pruned.push(...this.records.splice(0, this.indexOf(offset)));
    this.start = Math.max(this.start, Math.min(offset, this.#end));
  }

  /** Compaction keeps the latest record of each key, and all after the offset as they are. */
  compact(before: number): void {
    const latest = new Map<string, number>();
    for (const { key, offset } of this.records) latest.set(key?.toString('latin1') ?? '', offset);
    this.records = this.records.filter(
      ({ key, offset }) => offset >= before || latest.get(key?.toString('latin1') ?? '') === offset,
    );
  }

  #batchesOf(producerId: number): NumberedBatch[] {
    let batches = this.#producers.get(producerId);
    if (batches === undefined) {
      batches = [];
      this.#producers.set(producerId, batches);
    }
    return batches;
  }
}

/** The record as kafkajs hands it over. */
export function asKafkaMessage(record: KeptRecord): KafkaMessage {
  return {
    key: record.key,
    value: record.value,
    headers: record.headers,
    offset: String(record.offset),
    timestamp: String(record.timestampMs),
    attributes: 0,
  };
}
