import { createRequire } from 'node:module';

/** kafkajs' connection to one broker. */
interface Broker {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}

const require = createRequire(import.meta.url);

/**
 * Repairs connections that broke between opening the socket and the broker's first answer. kafkajs takes an open socket
 * for connected, and then fails with "Broker not connected" forever. It changes kafkajs for the whole thread.
 */
export function finishConnecting(): void {
  const { prototype } = require('kafkajs/src/broker/index.js') as { readonly prototype: Broker };
  const connect = Object.getOwnPropertyDescriptor(prototype, 'connect')?.value as Broker['connect'];
  prototype.connect = async function (this: Broker) {
    try {
      await connect.call(this);
    } catch (error) {
      await this.disconnect().catch(() => undefined);
      throw error;
    }
  };
}
