import { createRequire } from 'node:module';

/** Called when a consumer fetches an offset that the partition does not have. */
export type OnOutOfRange = (topic: string, partition: number, offset: number) => void;

interface OffsetManager {
  readonly groupId: string;
  nextOffset(topic: string, partition: number): { toString(): string };
  setDefaultOffset(place: { readonly topic: string; readonly partition: number }): Promise<void>;
}

const listeners = new Map<string, Set<OnOutOfRange>>();

/**
 * Calls the listener when a consumer of the group in this thread fetches an offset out of range. kafkajs alone would
 * silently continue at the first existing record, and commit that.
 * @returns a function that removes the listener
 */
export function onOutOfRange(groupId: string, listener: OnOutOfRange): () => void {
  const known = listeners.get(groupId) ?? new Set();
  listeners.set(groupId, known.add(listener));
  return () => {
    known.delete(listener);
  };
}

/** Removes all listeners. For simulations, where a killed process does not remove its own. */
export function forgetOutOfRangeListeners(): void {
  listeners.clear();
}

/** Changes kafkajs for the whole thread. Groups without a listener keep kafkajs' behaviour. */
export function replaceReset(): void {
  const require = createRequire(import.meta.url);
  const managers = require('kafkajs/src/consumer/offsetManager/index.js') as { readonly prototype: OffsetManager };
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its `this` below
  const { setDefaultOffset } = managers.prototype;
  managers.prototype.setDefaultOffset = async function (this: OffsetManager, place) {
    const known = listeners.get(this.groupId);
    if (known === undefined || known.size === 0) {
      await setDefaultOffset.call(this, place);
      return;
    }
    const offset = Number(this.nextOffset(place.topic, place.partition).toString());
    for (const listener of known) listener(place.topic, place.partition, offset);
  };
}
