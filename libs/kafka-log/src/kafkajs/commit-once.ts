import { createRequire } from 'node:module';

interface Runner {
  readonly running: boolean;
  readonly consumerGroup: { commitOffsets(offsets: unknown): Promise<void> };
  commitOffsets(offsets: unknown): Promise<void>;
}

/**
 * kafkajs repeats a commit that failed, as the member that it is by then. After it has joined again, it commits offsets of
 * its old partitions in the name of the new member, over what their new owner has committed. `OffsetCommits` repeats what
 * is still worth it.
 */
export function commitOnce(): void {
  const require = createRequire(import.meta.url);
  const runners = require('kafkajs/src/consumer/runner.js') as { readonly prototype: Runner };
  runners.prototype.commitOffsets = async function (this: Runner, offsets) {
    if (this.running) await this.consumerGroup.commitOffsets(offsets);
  };
}
