import { join } from 'node:path';
import { nodeDirectories } from './kafka/embedded-kafka-cluster.js';
import { startEmbeddedKafka } from './kafka/embedded-kafka.js';
import { POSTGRES_STOP_STEPS, startEmbeddedPostgres } from './postgres/embedded-postgres.js';
import { KAFKA_STOP_STEPS } from './kafka/kafka-node.js';
import { endLeftover } from './servers/server-claim.js';

export interface EmbeddedStack {
  readonly brokers: string;
  readonly databaseUrl: string;
  /** Resolves with the reason when either server ends without `stop`. */
  readonly died: Promise<Error>;
  /** Stops both servers at the same time. You can call it repeatedly. */
  readonly stop: () => Promise<void>;
}

/**
 * Starts Kafka and Postgres at the same time. If one fails, the other is stopped, so that nothing runs when this
 * throws.
 * @throws the errors of `startEmbeddedKafka` and `startEmbeddedPostgres`
 */
export async function startEmbeddedStack(o: {
  readonly dataDir: string;
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal;
  /** The preferred ports (9092 and 5432); 0 for any free one. */
  readonly kafkaPort?: number;
  readonly postgresPort?: number;
  /** Whether Postgres commits survive a crash of the machine (default true); tests set it to false. */
  readonly durable?: boolean;
}): Promise<EmbeddedStack> {
  const failed = new AbortController();
  const signal = o.signal === undefined ? failed.signal : AbortSignal.any([o.signal, failed.signal]);
  const { dataDir, log } = o;
  const abortOther = (error: unknown): never => {
    failed.abort(error);
    throw error;
  };
  const [kafka, postgres] = await Promise.allSettled([
    startEmbeddedKafka({
      dataDir,
      log,
      signal,
      ...(o.kafkaPort !== undefined && { port: o.kafkaPort }),
    }).catch(abortOther),
    startEmbeddedPostgres({
      dataDir,
      log,
      signal,
      ...(o.postgresPort !== undefined && { port: o.postgresPort }),
      ...(o.durable !== undefined && { durable: o.durable }),
    }).catch(abortOther),
  ]);
  if (kafka.status === 'rejected' || postgres.status === 'rejected') {
    const started = [kafka, postgres].flatMap((server) => (server.status === 'fulfilled' ? [server.value] : []));
    await Promise.all(started.map((server) => server.stop()));
    throw signal.reason;
  }
  return {
    brokers: kafka.value.brokers,
    databaseUrl: postgres.value.url,
    died: Promise.race([kafka.value.died, postgres.value.died]),
    stop: async () => {
      await Promise.all([kafka.value.stop(), postgres.value.stop()]);
    },
  };
}

/**
 * Stops servers that a killed Gapless left running on a directory that is no longer needed.
 * @returns whether nothing uses the directory now; false when a running Gapless does
 */
export async function stopLeftovers(dataDir: string): Promise<boolean> {
  const free = await Promise.all([
    ...[dataDir, ...nodeDirectories(dataDir)].map((directory) =>
      endLeftover(join(directory, 'kafka.pid'), KAFKA_STOP_STEPS),
    ),
    endLeftover(join(dataDir, 'postgres.pid'), POSTGRES_STOP_STEPS),
  ]);
  return free.every(Boolean);
}
