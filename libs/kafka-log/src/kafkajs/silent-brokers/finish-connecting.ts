import kafkajs, { type ISocketFactory } from 'kafkajs';
import { methodsOfKafkajs, wrap } from '../patching/patch.js';

/** kafkajs' connection to one broker. */
interface Broker {
  /** `<host>:<port>`. */
  readonly brokerAddress: string;
  readonly connectionPool: { readonly socketFactory: ISocketFactory };
  connect(): Promise<void>;
  disconnect(): Promise<void>;
}

const listeners = new WeakMap<ISocketFactory, (address: string) => void>();

/** Calls `listener` with the address of each broker that cannot be connected to, for connections by these sockets. */
export function onFailedConnect(sockets: ISocketFactory, listener: (address: string) => void): void {
  listeners.set(sockets, listener);
}

/**
 * Repairs connections that broke between opening the socket and the broker's first answer. kafkajs takes an open socket
 * for connected, and then fails with "Broker not connected" forever. A frozen broker opens sockets, and never answers:
 * kafkajs would try only that one. It changes kafkajs for the whole thread.
 */
export function finishConnecting(): void {
  wrap(methodsOfKafkajs('broker/index.js') as Broker, 'connect', (connect) => {
    return async function (this: Broker) {
      try {
        await connect.call(this);
      } catch (error) {
        await this.disconnect().catch(() => undefined);
        listeners.get(this.connectionPool.socketFactory)?.(this.brokerAddress);
        if (!(error instanceof kafkajs.KafkaJSRequestTimeoutError)) throw error;
        // kafkajs goes on to another broker, and looks for new leaders, only after an error of this class.
        throw new kafkajs.KafkaJSConnectionError(error, { broker: this.brokerAddress });
      }
    };
  });
}
