import { methodsOfKafkajs, wrap } from './patching/patch.js';

/** kafkajs' connection to one broker. */
interface Broker {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}

/**
 * Repairs connections that broke between opening the socket and the broker's first answer. kafkajs takes an open socket
 * for connected, and then fails with "Broker not connected" forever. It changes kafkajs for the whole thread.
 */
export function finishConnecting(): void {
  wrap(methodsOfKafkajs('broker/index.js') as Broker, 'connect', (connect) => {
    return async function (this: Broker) {
      try {
        await connect.call(this);
      } catch (error) {
        await this.disconnect().catch(() => undefined);
        throw error;
      }
    };
  });
}
