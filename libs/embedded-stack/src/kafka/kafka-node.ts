import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { StopSteps } from '../processes/end-process.js';
import { kafkaClusterIdIn } from './kafka-cluster-id.js';
import { KAFKA_JARS } from './kafka-jars.js';
import { whoAnswersKafka } from '../kafka-protocol/kafka-probe.js';
import { KAFKA_LOGGING, kafkaServerProperties, type KafkaPeer } from './kafka-settings.js';
import { runServer, type RunningServer } from '../servers/run-server.js';
import { serverEnvironment, type ServerCommand } from '../servers/server-process.js';

/** The nodes of a cluster and its id. */
export interface KafkaMembership {
  readonly node: KafkaPeer;
  /** All nodes, this one included. */
  readonly peers: readonly KafkaPeer[];
  /** 22 characters of base64url, the same for all nodes. It is used only when the node's storage is formatted. */
  readonly clusterId: string;
}

export interface KafkaNodeOptions {
  /** The directory for `kafka.pid`, `kafka.port` and `kafka/`. */
  readonly dataDir: string;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal | undefined;
  /** The preferred port if the last run's is not free; 0 for any free one. */
  readonly port: number;
  /** The largest heap of the node, MiB. */
  readonly heapMiB?: number;
  /** Called at each launch, with the port that the node will serve its clients on. */
  readonly membership: (port: number) => Promise<KafkaMembership>;
}

export const KAFKA_STOP_STEPS: StopSteps = [
  { signal: 'SIGTERM', waitMs: 6000 },
  { signal: 'SIGKILL', waitMs: 2000 },
];
const DEFAULT_HEAP_MIB = 512;
/** In the process' working directory, because Log4j reads `${` in a path as its own. */
const LOGGING_FILE = 'log4j2.xml';
const JVM_FLAGS = [
  '-Djava.awt.headless=true',
  '-Dlog4j2.disableJmx=true',
  `-Dlog4j2.configurationFile=${LOGGING_FILE}`,
];
/** A broker writes this file when it ends in order, and removes it when it starts. */
const CLEAN_END_FILE = '.kafka_cleanshutdown';
/** Fast to start: the formatter runs for a second. */
const FORMATTER_FLAGS = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
/**
 * The objects of a broker are short-lived, and requests wait during a collection. A small young generation and both
 * cores keep collections below 20 ms (ADR 7).
 */
const BROKER_FLAGS = ['-XX:+UseParallelGC', '-Xmn48m'];

/** Runs one node under `<dataDir>/kafka`. Resolves once its cluster has admitted it. */
export async function runKafkaNode(o: KafkaNodeOptions): Promise<RunningServer> {
  const dataDir = resolve(o.dataDir);
  const home = join(dataDir, 'kafka');
  const records = join(home, 'records');
  const logFile = join(home, 'kafka.log');
  const propertiesFile = join(home, 'server.properties');
  const javaHome = process.env['JAVA_HOME'];
  const java = javaHome === undefined || javaHome === '' ? 'java' : join(javaHome, 'bin', 'java');
  // The class archive that the bootstrap makes. A JVM that it does not fit starts without it.
  const classes = `${KAFKA_JARS}.jsa`;
  const sharing = existsSync(classes) ? [`-XX:SharedArchiveFile=${classes}`] : [];
  const flags = [...sharing, ...JVM_FLAGS, '-cp', join(KAFKA_JARS, '*')];
  // Without a locale of UTF-8, Java cannot open files whose paths have other letters than ASCII.
  const env = { ...serverEnvironment('JAVA_HOME', 'JAVA_TOOL_OPTIONS'), LC_ALL: 'C.UTF-8' };
  let nodeId = 0;
  let launchId = '';

  const program = { command: java, env, cwd: home, outputFile: join(home, 'output.log'), logFile };
  const formatter = (clusterId: string): ServerCommand => ({
    ...program,
    name: `Kafka's formatter (${java} with the jars in ${KAFKA_JARS})`,
    args: [...FORMATTER_FLAGS, ...flags, 'kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', propertiesFile],
  });

  return runServer({
    name: 'Kafka',
    dataDir,
    home,
    port: o.port,
    stopSteps: KAFKA_STOP_STEPS,
    log: o.log,
    signal: o.signal,
    prepare: async () => {
      // An earlier version may have left the directory readable for everyone.
      await chmod(home, 0o700);
      await writeFile(join(home, LOGGING_FILE), KAFKA_LOGGING, { mode: 0o600 });
    },
    commandFor: async (port, run) => {
      const { node, peers, clusterId } = await o.membership(port);
      nodeId = node.nodeId;
      launchId = `launch-${randomBytes(8).toString('hex')}`;
      // The formatter writes this file last, so an interrupted format is repeated.
      const isFormatted = existsSync(join(records, 'meta.properties'));
      const isAfterCrash = isFormatted && !existsSync(join(records, CLEAN_END_FILE));
      const settings = { port, node, peers, dataDir: records, launchId, isAfterCrash };
      await writeFile(propertiesFile, kafkaServerProperties(settings), { mode: 0o600 });
      if (!isFormatted) await run(formatter(clusterId));
      return {
        ...program,
        name: 'Kafka',
        args: [`-Xmx${o.heapMiB ?? DEFAULT_HEAP_MIB}m`, ...BROKER_FLAGS, ...flags, 'kafka.Kafka', propertiesFile],
      };
    },
    whoAnswers: (port) => whoAnswersKafka(port, { clusterId: kafkaClusterIdIn(records), nodeId, launchId }),
  });
}
