import { methodsOfKafkajs, wrap } from '../patching/patch.js';

/** kafkajs' view of the brokers; each consumer has its own. */
interface Cluster {
  committedOffsetsByGroup: Map<string, object>;
  committedOffsets(group: { readonly groupId: string }): object;
}

/**
 * Lets kafkajs forget a group's offsets with its consumer. They are in a map of the client otherwise, and each reader
 * of partitions adds a group to it. It changes kafkajs for the whole thread.
 */
export function keepOwnOffsets(): void {
  const own = new WeakSet<Cluster>();
  wrap(methodsOfKafkajs('cluster/index.js') as Cluster, 'committedOffsets', (committedOffsets) => {
    return function (this: Cluster, group) {
      if (!own.has(this)) this.committedOffsetsByGroup = new Map();
      own.add(this);
      return committedOffsets.call(this, group);
    };
  });
}
