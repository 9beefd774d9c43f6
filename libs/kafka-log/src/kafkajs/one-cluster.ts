import { createRequire } from 'node:module';
import type { ISocketFactory } from 'kafkajs';

/** A request of kafkajs, and how it reads the answer. */
interface Protocol {
  readonly request: { readonly encode: () => Promise<{ readonly buffer: Buffer }> };
  readonly response: unknown;
}

/** kafkajs' connection to one broker. */
interface Broker {
  readonly brokerAddress: string;
  readonly connectionPool: {
    readonly socketFactory: ISocketFactory;
    send(protocol: Protocol): Promise<{ readonly clusterId?: string | null }>;
  };
  lookupRequest(
    apiKey: number,
    requests: unknown,
  ): (options: { readonly topics: readonly string[]; readonly allowAutoTopicCreation: boolean }) => Protocol;
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  isConnected(): boolean;
}

type ConnectionError = new (message: string, options: { readonly broker: string }) => Error;

const require = createRequire(import.meta.url);

/** The cluster that connections first reached, by what opens their sockets; `null` before. */
const clusters = new WeakMap<ISocketFactory, { id: string | null }>();

/** Makes all connections whose sockets this opens stay with the cluster that the first of them reaches. */
export function stayWithOneCluster(sockets: ISocketFactory): void {
  clusters.set(sockets, { id: null });
}

/**
 * Asks each broker for its cluster before it gets other requests. kafkajs connects to an address again without a look at
 * who answers there, and would write to the topic of the same name in another cluster. It changes kafkajs for the whole
 * thread; connections without `stayWithOneCluster` keep kafkajs' behaviour.
 */
export function askForCluster(): void {
  const { prototype } = require('kafkajs/src/broker/index.js') as { readonly prototype: Broker };
  const { Metadata } = require('kafkajs/src/protocol/requests/apiKeys.js') as { readonly Metadata: number };
  const requests = require('kafkajs/src/protocol/requests/metadata/index.js') as unknown;
  const { KafkaJSConnectionError } = require('kafkajs/src/errors.js') as { KafkaJSConnectionError: ConnectionError };
  const connect = Object.getOwnPropertyDescriptor(prototype, 'connect')?.value as Broker['connect'];
  const isConnected = Object.getOwnPropertyDescriptor(prototype, 'isConnected')?.value as Broker['isConnected'];
  /** Brokers whose cluster is not known since they were connected. */
  const unknown = new WeakSet<Broker>();

  const clusterOf = async (broker: Broker) => {
    const { request, response } = broker.lookupRequest(
      Metadata,
      requests,
    )({ topics: [], allowAutoTopicCreation: false });
    const encode = async () => {
      const encoded = await request.encode();
      // kafkajs cannot ask for no topics: it writes that as all of them.
      encoded.buffer.writeInt32BE(0);
      return encoded;
    };
    return (await broker.connectionPool.send({ request: { ...request, encode }, response })).clusterId ?? null;
  };

  prototype.isConnected = function (this: Broker) {
    return !unknown.has(this) && isConnected.call(this);
  };
  prototype.connect = async function (this: Broker) {
    const cluster = clusters.get(this.connectionPool.socketFactory);
    if (cluster === undefined || this.isConnected()) {
      await connect.call(this);
      return;
    }
    unknown.add(this);
    await connect.call(this);
    const found = await clusterOf(this);
    cluster.id ??= found;
    if (found !== cluster.id) {
      throw new KafkaJSConnectionError(
        `${this.brokerAddress} belongs to the Kafka cluster ${found ?? 'without an id'}, and this process works with ` +
          `${cluster.id}: correct the address of the brokers, or restart the process if it moves to that cluster`,
        { broker: this.brokerAddress },
      );
    }
    unknown.delete(this);
  };
}
