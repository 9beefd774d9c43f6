import { FeedProjection, type Store } from '#libs/postgres';
import {
  anchorOf,
  anchorText,
  followBatches,
  readLogRecords,
  type KafkaConnection,
  type Positions,
  type RecordBatch,
} from '#libs/kafka-log';
import { CliError } from '../../cli-error.js';

/** How many partitions are folded at the same time. */
const PARTITIONS_AT_ONCE = 4;

/** Folds the log into the databases that the feed moves to, and goes on with new records until it is stopped. */
export class FeedFollower {
  records = 0;
  readonly #projection: FeedProjection;
  readonly #stopping = new AbortController();
  #running: Promise<void> | null = null;

  constructor(
    private readonly connection: KafkaConnection,
    private readonly topic: string,
    target: Store,
    private readonly onRecords: (count: number) => void,
  ) {
    this.#projection = new FeedProjection(target);
  }

  /** @param from where each partition goes on @returns a promise that only a failure ends */
  start(from: Positions): Promise<never> {
    const { connection, topic } = this;
    const { signal } = this.#stopping;
    const running = followBatches(connection, topic, from, (batch) => this.#fold(batch), signal, PARTITIONS_AT_ONCE);
    this.#running = running.catch(() => undefined);
    return new Promise((_, reject) => {
      running.catch(reject);
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #fold({ topic, partition, records }: RecordBatch): Promise<void> {
    const last = records.at(-1);
    if (last === undefined) return;
    const firstOffset = records[0]?.offset ?? 0;
    const projected = await this.#projection.apply(
      {
        projection: 'feed',
        topic,
        partition,
        firstOffset,
        nextOffset: last.offset + 1,
        anchor: anchorText(anchorOf(last)),
      },
      readLogRecords(records),
    );
    if (projected.kind === 'behind') {
      throw new CliError(
        `${topic}/${partition} has lost the records from ${projected.nextOffset} to ${firstOffset - 1} since the move was ` +
          'interrupted: name other databases, or drop the new ones and create them again',
      );
    }
    this.records += records.length;
    this.onRecords(records.length);
  }
}
