import { Injectable } from '@nestjs/common';

/** What a batch of the log held, once it was folded. */
export interface FoldedBatch {
  /** The offset after the batch. */
  readonly nextOffset: number;
  /** The inbox offset of its last event; `undefined` if no record of the batch has one. */
  readonly inboxOffset: number | undefined;
  /** When the first of its chats that now wait passes its next threshold, epoch milliseconds; `Infinity` for none. */
  readonly dueAtMs: number;
}

/** The events of the inbox that this process has folded, by partition. A record of the log names its inbox record. */
@Injectable()
export class FoldedInbox {
  readonly #batches = new Map<number, { readonly nextOffset: number; readonly inboxOffset: number }>();
  readonly #waiting = new Set<() => void>();
  /** Called with the time at which a chat of the partition passes its next threshold. */
  onWaiting: (partition: number, dueAtMs: number) => void = () => undefined;

  noted(partition: number, { nextOffset, inboxOffset, dueAtMs }: FoldedBatch): void {
    if (inboxOffset !== undefined) this.#batches.set(partition, { nextOffset, inboxOffset });
    if (dueAtMs < Infinity) this.onWaiting(partition, dueAtMs);
    for (const end of this.#waiting) end();
  }

  /** Whether this process has folded events of the partition. */
  knows(partition: number): boolean {
    return this.#batches.has(partition);
  }

  /**
   * Returns an offset of the log before which it holds all events of the inbox before `inboxEnd`; `undefined` if this
   * process does not know one. It never does for 0, which is the end of an inbox without records.
   */
  logEndOf(partition: number, inboxEnd: number): number | undefined {
    const batch = this.#batches.get(partition);
    return batch !== undefined && inboxEnd > 0 && batch.inboxOffset + 1 >= inboxEnd ? batch.nextOffset : undefined;
  }

  /** Resolves with the next batch, and after that time at the latest. */
  async next(withinMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.#waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, withinMs);
      signal.addEventListener('abort', end);
      this.#waiting.add(end);
    });
    signal.throwIfAborted();
  }
}
