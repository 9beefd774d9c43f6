import { createRequire } from 'node:module';

/** A connection of kafkajs to one broker. */
interface Broker {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}

const require = createRequire(import.meta.url);

/**
 * Lets a connection be made again that broke off between its socket and the first answer of the broker. kafkajs takes one
 * with an open socket for connected, and answers "Broker not connected" on it for ever. It changes kafkajs for the whole
 * thread.
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
