import { methodsOfKafkajs, wrap } from './patching/patch.js';

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
  wrap(methodsOfKafkajs('consumer/runner.js') as Runner, 'commitOffsets', () => {
    return async function (this: Runner, offsets) {
      if (this.running) await this.consumerGroup.commitOffsets(offsets);
    };
  });
}
