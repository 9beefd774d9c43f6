import type { Metrics } from '#libs/telemetry';
import type { HealthBoard, Logger } from '#libs/runtime';
import { openTransaction } from '../kafkajs/open-transactions.js';

/** Milliseconds. A transaction that ends sooner delays readers too little to report. */
const NOTED_AFTER_MS = 5_000;

/**
 * Reports partitions that stand still because a producer keeps a transaction open: in the log, in health and as a
 * metric. Only the broker can end the transaction.
 */
export class OpenTransactionsWatch {
  readonly #noted = new Set<string>();

  constructor(
    private readonly consumer: { readonly groupId: string; readonly group: string },
    private readonly metrics: Metrics,
    private readonly logger: Logger,
    private readonly health: HealthBoard,
  ) {
    metrics.set('gapless_open_transaction_seconds', { group: consumer.group }, 0);
  }

  look(assigned: Readonly<Record<string, readonly number[]>>): void {
    const { groupId, group } = this.consumer;
    const now = new Set<string>();
    let longestMs = 0;
    for (const [topic, partitions] of Object.entries(assigned)) {
      for (const partition of partitions) {
        const found = openTransaction(topic, partition);
        if (found === undefined) continue;
        longestMs = Math.max(longestMs, found.forMs);
        if (found.forMs < NOTED_AFTER_MS) continue;
        const part = `${groupId} ${topic}/${partition} transaction`;
        now.add(part);
        this.health.waiting(part, `a producer keeps a transaction open at offset ${found.offset}`);
        if (this.#noted.has(part)) continue;
        this.#noted.add(part);
        this.logger.error({ group: groupId, topic, partition, offset: found.offset }, 'partition.open_transaction');
      }
    }
    for (const part of [...this.#noted].filter((noted) => !now.has(noted))) {
      this.#noted.delete(part);
      this.health.forget(part);
    }
    this.metrics.set('gapless_open_transaction_seconds', { group }, longestMs / 1_000);
  }
}
