import kafkajs from 'kafkajs';
import { methodsOfKafkajs, wrap } from '../patching/patch.js';

interface Broker {
  produce(request: object): Promise<object>;
}

interface Cluster {
  findBroker(of: { readonly nodeId: string }): Promise<Broker>;
  refreshMetadata(): Promise<void>;
}

/**
 * Lets a producer look for the leaders again when a broker does not answer. The cluster gives the partitions of a silent
 * broker to others after 9 s, and kafkajs would ask this one until its tries are over. It changes kafkajs for the whole
 * thread.
 */
export function doubtSilentLeaders(): void {
  const clusters = new WeakMap<Broker, Cluster>();
  wrap(methodsOfKafkajs('cluster/index.js') as Cluster, 'findBroker', (find) => {
    return async function (this: Cluster, of) {
      const broker = await find.call(this, of);
      clusters.set(broker, this);
      return broker;
    };
  });
  wrap(methodsOfKafkajs('broker/index.js') as Broker, 'produce', (produce) => {
    return async function (this: Broker, request) {
      try {
        return await produce.call(this, request);
      } catch (error) {
        const isSilent = error instanceof kafkajs.KafkaJSRequestTimeoutError;
        // Nothing waits for this: it may ask the silent broker.
        if (isSilent)
          void clusters
            .get(this)
            ?.refreshMetadata()
            .catch(() => undefined);
        throw error;
      }
    };
  });
}
