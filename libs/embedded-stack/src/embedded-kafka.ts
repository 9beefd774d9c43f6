import { quietPort } from './free-port.js';
import { newKafkaClusterId } from './kafka-cluster-id.js';
import { runKafkaNode } from './kafka-node.js';

export interface EmbeddedKafka {
  /** `127.0.0.1:<port>`. */
  readonly brokers: string;
  /** Settles with the reason when the broker ends without `stop`; never, otherwise. */
  readonly died: Promise<Error>;
  /** Ends the broker, by force after 6 s; may be called any number of times. */
  readonly stop: () => Promise<void>;
}

const DEFAULT_PORT = 9092;

/**
 * Runs a single-node Kafka under `<dataDir>/kafka`, on loopback: on `port` (9092) if that is free, otherwise on a free
 * one, and the next time on the same one again. Its records outlive the process. A broker that a killed Gapless left behind
 * is stopped first.
 * `java` is taken from JAVA_HOME or PATH.
 * @throws DataDirInUseError when another Gapless that is alive uses the directory.
 * @throws Error with the end of the broker's log when it does not start; the signal's reason when aborted.
 */
export async function startEmbeddedKafka(o: {
  readonly dataDir: string;
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal;
  /** The port to prefer; 0 takes any free one. */
  readonly port?: number;
}): Promise<EmbeddedKafka> {
  const { dataDir, log, signal } = o;
  const { port, died, stop } = await runKafkaNode({
    dataDir,
    log,
    signal,
    port: o.port ?? DEFAULT_PORT,
    membership: async (ownPort) => {
      const node = { nodeId: 1, controllerPort: await quietPort(undefined, new Set([ownPort])) };
      return { node, peers: [node], clusterId: newKafkaClusterId() };
    },
  });
  return { brokers: `127.0.0.1:${port}`, died, stop };
}
