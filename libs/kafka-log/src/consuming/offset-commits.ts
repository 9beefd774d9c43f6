import type { Consumer } from 'kafkajs';
import type { Logger } from '#libs/runtime';

/** Offsets move this often at the most: a commit costs as much as a small batch, and a crash repeats no more than this. */
const COMMIT_EVERY_MS = 250;
/** A request that got no answer may still arrive for so long, even after a later one, and move an offset back. */
const LATE_MS = 10_000;

interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
}

export interface OffsetCommitsUse {
  readonly groupId: string;
  readonly logger: Logger;
  /** The consumer that may commit now, if there is one. */
  readonly consumer: () => Consumer | null;
  /** Whether commits that fail are still worth another try. */
  readonly isStopping: () => boolean;
  /** The metadata to commit with an offset. */
  readonly metadataOf: (topic: string, partition: number, nextOffset: number) => string | null;
}

/** Moves the offsets of a consumer group to what has been handled. A commit that fails is tried again. */
export class OffsetCommits {
  /** Handled and not yet committed offsets, by partition. */
  readonly #handled = new Map<string, Place>();
  /** What was committed last, by partition. */
  readonly #committed = new Map<string, Place>();
  #again: NodeJS.Timeout | null = null;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(private readonly use: OffsetCommitsUse) {}

  /** Commits within `COMMIT_EVERY_MS`, together with what else is handled by then. */
  later(topic: string, partition: number, nextOffset: number): void {
    this.#note(topic, partition, nextOffset);
    this.#schedule();
  }

  /** Commits at once. */
  async now(topic: string, partition: number, nextOffset: number): Promise<void> {
    this.#note(topic, partition, nextOffset);
    await this.flush();
  }

  /**
   * Commits all that is handled. One request at a time: of two on their way the earlier could arrive last, and move an
   * offset back.
   */
  flush(): Promise<void> {
    this.#running = this.#running.then(() => this.#commit());
    return this.#running;
  }

  /** A new assignment begins at what was committed: forgets the rest. */
  forget(): void {
    this.#handled.clear();
    this.#committed.clear();
  }

  #note(topic: string, partition: number, nextOffset: number): void {
    this.#handled.set(`${topic}/${partition}`, { topic, partition, offset: String(nextOffset) });
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => void this.flush(), COMMIT_EVERY_MS);
  }

  async #commit(): Promise<void> {
    const { groupId, logger, isStopping, metadataOf } = this.use;
    const consumer = this.use.consumer();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const handled = [...this.#handled.entries()];
    if (handled.length === 0 || consumer === null) return;
    try {
      await consumer.commitOffsets(
        handled.map(([, place]) => ({
          ...place,
          metadata: metadataOf(place.topic, place.partition, Number(place.offset)),
        })),
      );
      for (const [key, place] of handled) {
        this.#committed.set(key, place);
        if (this.#handled.get(key) === place) this.#handled.delete(key);
      }
    } catch (error) {
      // The places stay: others see by the committed offsets what has been handled.
      logger.debug({ group: groupId, err: error }, 'commit.failed');
      if (this.use.consumer() !== consumer || isStopping()) return;
      this.#schedule();
      if (this.#again !== null) return;
      this.#again = setTimeout(() => {
        this.#commitAgain();
      }, LATE_MS).unref();
    }
  }

  /** Undoes what a late request may have done. */
  #commitAgain(): void {
    this.#again = null;
    if (this.use.isStopping()) return;
    for (const [key, place] of this.#committed) if (!this.#handled.has(key)) this.#handled.set(key, place);
    this.#schedule();
  }
}
