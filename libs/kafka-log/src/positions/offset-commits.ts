import type { Consumer } from 'kafkajs';
import type { Logger } from '#libs/runtime';

/**
 * The shortest time between commits, milliseconds. A commit costs as much as a small batch, and a crash repeats at most
 * this much.
 */
const COMMIT_EVERY_MS = 250;
/**
 * How late an unanswered commit may still arrive, milliseconds. It can come after a newer one and move the offset back.
 */
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
  /** Whether the consumer is stopping, so that failed commits are not retried. */
  readonly isStopping: () => boolean;
  /** The metadata to commit with an offset. */
  readonly metadataOf: (topic: string, partition: number, nextOffset: number) => string | null;
}

/** Commits the offsets of handled records for a consumer group, and retries failed commits. */
export class OffsetCommits {
  /** Handled offsets that are not committed yet, by partition. */
  readonly #handled = new Map<string, Place>();
  /** The last committed offset of each partition. */
  readonly #committed = new Map<string, Place>();
  #again: NodeJS.Timeout | null = null;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(private readonly use: OffsetCommitsUse) {}

  /** Commits within `COMMIT_EVERY_MS`, together with other handled offsets. */
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
   * Commits all handled offsets. It sends one request at a time, because two could arrive in the wrong order and move
   * an offset back.
   */
  flush(): Promise<void> {
    this.#running = this.#running.then(() => this.#commit());
    return this.#running;
  }

  /** Forgets uncommitted offsets: a new assignment begins at the committed ones. */
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
      // Keep the offsets for a retry: other processes see by committed offsets what has been handled.
      logger.debug({ group: groupId, err: error }, 'commit.failed');
      if (this.use.consumer() !== consumer || isStopping()) return;
      this.#schedule();
      if (this.#again !== null) clearTimeout(this.#again);
      this.#again = setTimeout(() => {
        this.#commitAgain();
      }, LATE_MS).unref();
    }
  }

  /** Commits again, in case a late request has moved an offset back. */
  #commitAgain(): void {
    this.#again = null;
    if (this.use.isStopping()) return;
    for (const [key, place] of this.#committed) if (!this.#handled.has(key)) this.#handled.set(key, place);
    this.#schedule();
  }
}
