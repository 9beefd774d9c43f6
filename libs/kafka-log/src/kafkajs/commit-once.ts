import { createRequire } from 'node:module';

interface Runner {
  readonly running: boolean;
  readonly consumerGroup: { commitOffsets(offsets: unknown): Promise<void> };
  commitOffsets(offsets: unknown): Promise<void>;
}

/**
 * Stops kafkajs from retrying failed commits. After a new join it would commit offsets of its old partitions as the new
 * member, over the commits of their new owner. `OffsetCommits` does the retries.
 */
export function commitOnce(): void {
  const require = createRequire(import.meta.url);
  const runners = require('kafkajs/src/consumer/runner.js') as { readonly prototype: Runner };
  runners.prototype.commitOffsets = async function (this: Runner, offsets) {
    if (this.running) await this.consumerGroup.commitOffsets(offsets);
  };
}
