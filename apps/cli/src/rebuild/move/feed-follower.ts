import type { Store } from '#libs/postgres';
import { followBatches, LogPositions, type KafkaConnection, type Positions } from '#libs/kafka-log';
import type { Config } from '#libs/runtime';
import { batchFold, feedTables, PARTITIONS_AT_ONCE, type FoldRules, type FoldStretch } from '../fold/fold-stretches.js';
import { foldOnThreads, threadsFor } from '../fold/fold-threads.js';

/** What helps if the new databases were folded from records that the log does not have. */
export const BEGIN_AGAIN = 'name other databases, or drop the new ones and create them again';

const RULES: FoldRules = { projection: 'feed', advice: `since the move was interrupted: ${BEGIN_AGAIN}` };

/** Folds the log into the databases that the feed moves to, and goes on with new records until it is stopped. */
export class FeedFollower {
  records = 0;
  readonly #stopping = new AbortController();
  #running: Promise<unknown> | null = null;

  /** @param threads how many threads may fold what is in the log already; `null`: half the cores, if it is worth it */
  constructor(
    private readonly connection: KafkaConnection,
    private readonly config: Config,
    private readonly topic: string,
    private readonly target: Store,
    private readonly threads: number | null,
    private readonly onRecords: (count: number) => void,
  ) {}

  /** @param from where each partition goes on @returns a promise that only a failure ends */
  start(from: Positions): Promise<never> {
    const running = this.#run(from);
    this.#running = running.catch(() => undefined);
    return new Promise((_, reject) => {
      running.catch(reject);
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(from: Positions): Promise<void> {
    const { connection, topic, target } = this;
    const { signal } = this.#stopping;
    const bounds = await new LogPositions(connection).bounds(topic);
    const stretches = [...from]
      .map(([partition, next]) => ({ topic, partition, from: next, to: bounds.get(partition)?.end ?? 0 }))
      .filter((stretch) => stretch.from < stretch.to);
    const threads = threadsFor(stretches, this.threads);
    const next = new Map(from);
    if (threads > 1) {
      await this.#catchUp(stretches, threads);
      for (const { partition, to } of stretches) next.set(partition, to);
    }
    const fold = batchFold(connection, feedTables(target), RULES, this.#onFolded);
    await followBatches(connection, topic, next, fold, signal, PARTITIONS_AT_ONCE);
  }

  /** The databases have the same number of threads each, and one at least. */
  async #catchUp(stretches: readonly FoldStretch[], threads: number): Promise<void> {
    const { config, target } = this;
    const { all } = target.feed;
    const each = Math.max(1, Math.round(threads / all.length));
    await Promise.all(
      all.map(async ({ store, place }) => {
        const own = stretches.filter(({ partition }) => partition % all.length === place);
        const order = { config, databaseUrl: store.databaseUrl, isShadow: false, rules: RULES };
        if (own.length > 0) await foldOnThreads(each, order, this.#onFolded, this.#stopping.signal)(own);
      }),
    );
  }

  readonly #onFolded = (count: number): void => {
    this.records += count;
    this.onRecords(count);
  };
}
