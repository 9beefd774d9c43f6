import type { ISocketFactory } from 'kafkajs';
import { methodsOfKafkajs, requireKafkajs, wrap } from './patching/patch.js';

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
  const methods = methodsOfKafkajs('broker/index.js') as Broker;
  const { Metadata } = requireKafkajs('protocol/requests/apiKeys.js') as { readonly Metadata: number };
  const requests = requireKafkajs('protocol/requests/metadata/index.js');
  const { KafkaJSConnectionError } = requireKafkajs('errors.js') as { KafkaJSConnectionError: ConnectionError };
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

  wrap(methods, 'isConnected', (isConnected) => {
    return function (this: Broker) {
      return !unknown.has(this) && isConnected.call(this);
    };
  });
  wrap(methods, 'connect', (connect) => {
    return async function (this: Broker) {
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
  });
}
