import { GroupListeners } from './patching/group-listeners.js';
import { methodsOfKafkajs, wrap } from './patching/patch.js';

/** Called when a consumer fetches an offset that the partition does not have. */
export type OnOutOfRange = (topic: string, partition: number, offset: number) => void;

interface OffsetManager {
  readonly groupId: string;
  nextOffset(topic: string, partition: number): { toString(): string };
  setDefaultOffset(place: { readonly topic: string; readonly partition: number }): Promise<void>;
}

const listeners = new GroupListeners<OnOutOfRange>();

/**
 * Calls the listener when a consumer of the group in this thread fetches an offset out of range. kafkajs alone would
 * silently continue at the first existing record, and commit that.
 * @returns a function that removes the listener
 */
export function onOutOfRange(groupId: string, listener: OnOutOfRange): () => void {
  return listeners.add(groupId, listener);
}

/** Changes kafkajs for the whole thread. Groups without a listener keep kafkajs' behaviour. */
export function replaceReset(): void {
  const manager = methodsOfKafkajs('consumer/offsetManager/index.js') as OffsetManager;
  wrap(manager, 'setDefaultOffset', (setDefaultOffset) => {
    return async function (this: OffsetManager, place) {
      const ofGroup = listeners.of(this.groupId);
      if (ofGroup.length === 0) {
        await setDefaultOffset.call(this, place);
        return;
      }
      const offset = Number(this.nextOffset(place.topic, place.partition).toString());
      for (const listener of ofGroup) listener(place.topic, place.partition, offset);
    };
  });
}
