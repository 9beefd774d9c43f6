import { idFingerprint, type IdFingerprint } from '#libs/domain';
import {
  isForeign,
  READ_BACK_RECORDS,
  readLogRecord,
  readPartitions,
  type KafkaConnection,
  type TopicNames,
} from '#libs/kafka-log';

/** After this many chunks without an old stamp, the ids are forgotten. */
const IDLE_CHUNKS = 1_000;
const MOST_KEPT = 2 * READ_BACK_RECORDS;

/**
 * The ids of the log just before the window. They are read when a stamp points there, and kept while such stamps come.
 */
export class ReadBack {
  #from = 0;
  #to = 0;
  /** The last offset of each id, by fingerprint. */
  #offsets = new Map<string, number>();
  #idleChunks = 0;

  constructor(
    private readonly connection: KafkaConnection,
    private readonly topics: TopicNames,
    private readonly partition: number,
  ) {}

  /** Reads the ids between the offsets that are not known yet. */
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

  /** Whether the log has the id at that offset or later, within the covered offsets. */
  has(print: IdFingerprint, from: number): boolean {
    return (this.#offsets.get(print.join()) ?? -1) >= from;
  }

  /** Counts a chunk that did not need the ids. After `IDLE_CHUNKS` of them, the ids are forgotten. */
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
      if (isForeign(record)) return;
      const { orgId, id } = readLogRecord(record);
      const key = idFingerprint(orgId, id).join();
      this.#offsets.set(key, Math.max(record.offset, this.#offsets.get(key) ?? 0));
    });
  }
}
