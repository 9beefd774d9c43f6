import { consumerGroupMethods, type ConsumerGroup } from './consumer-group.js';
import { wrap } from './patching/patch.js';

interface Pace {
  /** The consumer's configured wait, milliseconds. */
  readonly maxWaitTime: number;
  readonly minBytes: number;
  /** When records last came, or the first fetch was sent, in milliseconds of the monotonic clock. */
  busyAt: number;
}

/** A consumer without records for this long is quiet, milliseconds. */
const QUIET_AFTER_MS = 2_000;
/**
 * How long fetches of a quiet consumer wait, milliseconds. At most the heartbeat interval, because kafkajs sends
 * heartbeats between fetches.
 */
const QUIET_WAIT_MS = 500;

/** How long fetches of a group in a hurry wait for more records, milliseconds. */
const HURRIED_WAIT_MS = 25;
/** Until when a group of this thread is in a hurry, in milliseconds of the monotonic clock. */
const hurries = new Map<string, number>();

/** Lets consumers of the group in this thread gather records for only a moment, for so many milliseconds. */
export function hurryFetches(groupId: string, forMs: number): void {
  hurries.set(groupId, performance.now() + forMs);
}

/**
 * Lets a quiet consumer fetch less often. The broker answers as soon as there is a record, so records are not delayed.
 * While partitions are paused, fetches stay short, so that a resumed partition is soon fetched. It changes kafkajs for
 * the whole thread.
 */
export function fetchLessWhenQuiet(): void {
  const paces = new WeakMap<ConsumerGroup, Pace>();
  wrap(consumerGroupMethods(), 'fetch', (fetch) => {
    return async function (this: ConsumerGroup, nodeId) {
      let pace = paces.get(this);
      if (pace === undefined) {
        pace = { maxWaitTime: this.maxWaitTime, minBytes: this.minBytes, busyAt: performance.now() };
        paces.set(this, pace);
      }
      const isQuiet = performance.now() - pace.busyAt > QUIET_AFTER_MS && this.paused().length === 0;
      const isHurried = !isQuiet && performance.now() < (hurries.get(this.groupId) ?? 0);
      if (isQuiet) this.maxWaitTime = Math.max(QUIET_WAIT_MS, pace.maxWaitTime);
      else this.maxWaitTime = isHurried ? Math.min(HURRIED_WAIT_MS, pace.maxWaitTime) : pace.maxWaitTime;
      // The first record after a quiet time need not wait for others.
      this.minBytes = isQuiet ? 1 : pace.minBytes;
      const batches = await fetch.call(this, nodeId);
      if (batches.some((batch) => !batch.isEmpty())) pace.busyAt = performance.now();
      return batches;
    };
  });
}
