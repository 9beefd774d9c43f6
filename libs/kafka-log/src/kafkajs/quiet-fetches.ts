import { createRequire } from 'node:module';

/** kafkajs' state of a consumer in its group. */
interface ConsumerGroup {
  maxWaitTime: number;
  minBytes: number;
  paused(): readonly unknown[];
  /** With a batch for each partition, empty or not. */
  fetch(nodeId: string): Promise<readonly { isEmpty(): boolean }[]>;
}

interface Pace {
  /** As the consumer was made. */
  readonly maxWaitTime: number;
  readonly minBytes: number;
  /** When something came last, or the first fetch was sent, by a clock that nobody sets. */
  busyAt: number;
}

/** A consumer that got nothing for so long is quiet. */
const QUIET_AFTER_MS = 2_000;
/** How long its fetches wait: no longer than heartbeats are apart, which kafkajs sends between fetches. */
const QUIET_WAIT_MS = 500;

/**
 * Lets a quiet consumer ask its broker less often. A broker answers as soon as there is a record, so that nothing comes later.
 * While partitions are paused, the fetches stay short: what is resumed is asked for with the next one. It changes
 * kafkajs for the whole thread.
 */
export function fetchLessWhenQuiet(): void {
  const require = createRequire(import.meta.url);
  const { prototype } = require('kafkajs/src/consumer/consumerGroup.js') as { readonly prototype: ConsumerGroup };
  const fetch = Object.getOwnPropertyDescriptor(prototype, 'fetch')?.value as ConsumerGroup['fetch'];
  const paces = new WeakMap<ConsumerGroup, Pace>();
  prototype.fetch = async function (this: ConsumerGroup, nodeId) {
    let pace = paces.get(this);
    if (pace === undefined) {
      pace = { maxWaitTime: this.maxWaitTime, minBytes: this.minBytes, busyAt: performance.now() };
      paces.set(this, pace);
    }
    const isQuiet = performance.now() - pace.busyAt > QUIET_AFTER_MS && this.paused().length === 0;
    this.maxWaitTime = isQuiet ? Math.max(QUIET_WAIT_MS, pace.maxWaitTime) : pace.maxWaitTime;
    // The first record after a quiet time does not wait for others.
    this.minBytes = isQuiet ? 1 : pace.minBytes;
    const batches = await fetch.call(this, nodeId);
    if (batches.some((batch) => !batch.isEmpty())) pace.busyAt = performance.now();
    return batches;
  };
}
