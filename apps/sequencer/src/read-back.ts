import { idFingerprint, type IdFingerprint } from '#libs/domain';
import { readLogRecord, readPartitions, type KafkaConnection, type TopicNames } from '#libs/kafka-log';

/**
 * How far before the window a stamp is followed: more than a partition gets in the minutes that the api lets pass at most
 * between looking an id up and writing it. A stamp from before that is not the api's.
 */
export const READ_BACK_RECORDS = 500_000;
/** Chunks without an old stamp after which what was read is forgotten. */
const IDLE_CHUNKS = 1_000;
const MOST_KEPT = 2 * READ_BACK_RECORDS;

/** The ids of the log just before a window, read when a stamp points there, and kept while such stamps come. */
export class ReadBack {
  #from = 0;
  #to = 0;
  /** By fingerprint: the last offset at which the id is. */
  #offsets = new Map<string, number>();
  #idleChunks = 0;

  constructor(
    private readonly connection: KafkaConnection,
    private readonly topics: TopicNames,
    private readonly partition: number,
  ) {}

  /** Makes sure that everything between the offsets is known. */
  async cover(from: number, to: number): Promise<void> {
    this.#idleChunks = 0;
    if (from > this.#to || this.#offsets.size > MOST_KEPT) this.#forget();
    if (this.#from === this.#to) [this.#from, this.#to] = [to, to];
    if (from < this.#from) {
      await this.#read(from, this.#from);
      this.#from = from;
    }
    if (to > this.#to) {
      await this.#read(this.#to, to);
      this.#to = to;
    }
  }

  /** Whether the log has the id at that offset or after it, as far as it is covered. */
  has(print: IdFingerprint, from: number): boolean {
    return (this.#offsets.get(print.join()) ?? -1) >= from;
  }

  /** A chunk had no need of it. */
  rest(): void {
    if (this.#offsets.size > 0 && ++this.#idleChunks > IDLE_CHUNKS) this.#forget();
  }

  #forget(): void {
    this.#offsets = new Map();
    [this.#from, this.#to] = [0, 0];
  }

  async #read(from: number, to: number): Promise<void> {
    const stretch = { topic: this.topics.log, partition: this.partition, from, to };
    await readPartitions(this.connection, [stretch], (record) => {
      const { orgId, id } = readLogRecord(record);
      const key = idFingerprint(orgId, id).join();
      this.#offsets.set(key, Math.max(record.offset, this.#offsets.get(key) ?? 0));
    });
  }
}
