import { quietPort } from '../servers/free-port.js';
import { newKafkaClusterId } from './kafka-cluster-id.js';
import { runKafkaNode } from './kafka-node.js';

export interface EmbeddedKafka {
  /** `127.0.0.1:<port>`. */
  readonly brokers: string;
  /** Resolves with the reason when the broker ends without `stop`. */
  readonly died: Promise<Error>;
  /** Stops the broker, by force after 6 s. You can call it repeatedly. */
  readonly stop: () => Promise<void>;
}

const DEFAULT_PORT = 9092;

/**
 * Runs a single-node Kafka under `<dataDir>/kafka`, on loopback. It uses `port` (9092) if that is free, otherwise a
 * free port, which the next run uses again. Records outlive the process. It first stops a broker that a killed Gapless
 * left behind. `java` comes from JAVA_HOME or PATH.
 * @throws DataDirInUseError when another running Gapless uses the directory
 * @throws Error with the end of the broker's log when it does not start; the signal's reason when aborted
 */
export async function startEmbeddedKafka(o: {
  readonly dataDir: string;
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal;
  /** The preferred port; 0 for any free one. */
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
