import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { StopSteps } from './end-process.js';
import { kafkaClusterIdIn } from './kafka-cluster-id.js';
import { KAFKA_JARS } from './kafka-jars.js';
import { whoAnswersKafka } from './kafka-probe.js';
import { kafkaLogging, kafkaServerProperties, type KafkaPeer } from './kafka-settings.js';
import { withPrivateFiles } from './private-files.js';
import { runServer, type RunningServer } from './run-server.js';
import { serverEnvironment } from './server-process.js';

/** A node's place in its cluster. */
export interface KafkaMembership {
  readonly node: KafkaPeer;
  /** All nodes, this one included. */
  readonly peers: readonly KafkaPeer[];
  /** 22 characters of base64url, the same for all nodes; counts when the node's storage is prepared, and never again. */
  readonly clusterId: string;
}

export interface KafkaNodeOptions {
  /** Takes `kafka.pid`, `kafka.port` and the directory `kafka`. */
  readonly dataDir: string;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal | undefined;
  /** The port to prefer when the last run's is not free; 0 takes any free one. */
  readonly port: number;
  /** The largest heap of the node. */
  readonly heapMiB?: number;
  /** Asked for at each launch, with the port on which this one will serve its clients. */
  readonly membership: (port: number) => Promise<KafkaMembership>;
}

export const KAFKA_STOP_STEPS: StopSteps = [
  { signal: 'SIGTERM', waitMs: 6000 },
  { signal: 'SIGKILL', waitMs: 2000 },
];
const DEFAULT_HEAP_MIB = 512;
const JVM_FLAGS = ['-Djava.awt.headless=true', '-Dlog4j2.disableJmx=true'];
/** A broker writes it when it ends, and removes it when it starts. */
const CLEAN_END_FILE = '.kafka_cleanshutdown';
/** For a process that is over in a second. */
const FORMATTER_FLAGS = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
/**
 * What a broker allocates is dead soon, and all wait while it is collected: a small young generation and both cores keep
 * that below 20 ms (ADR 7).
 */
const BROKER_FLAGS = ['-XX:+UseParallelGC', '-Xmn48m'];

/** Runs one node under `<dataDir>/kafka`. It answers once its cluster has let it in. */
export async function runKafkaNode(o: KafkaNodeOptions): Promise<RunningServer> {
  const dataDir = resolve(o.dataDir);
  const home = join(dataDir, 'kafka');
  const records = join(home, 'records');
  const logFile = join(home, 'kafka.log');
  const propertiesFile = join(home, 'server.properties');
  const loggingFile = join(home, 'log4j2.xml');
  const javaHome = process.env['JAVA_HOME'];
  const java = javaHome === undefined || javaHome === '' ? 'java' : join(javaHome, 'bin', 'java');
  // Made by the bootstrap. A JVM that it does not fit starts without it.
  const classes = `${KAFKA_JARS}.jsa`;
  const sharing = existsSync(classes) ? [`-XX:SharedArchiveFile=${classes}`] : [];
  const flags = [...sharing, ...JVM_FLAGS, `-Dlog4j2.configurationFile=${loggingFile}`, '-cp', join(KAFKA_JARS, '*')];
  const env = serverEnvironment('JAVA_HOME', 'JAVA_TOOL_OPTIONS');
  let nodeId = 0;
  let launchId = '';

  const format = async (clusterId: string): Promise<void> => {
    const args = [
      ...FORMATTER_FLAGS,
      ...flags,
      'kafka.tools.StorageTool',
      'format',
      '-t',
      clusterId,
      '-c',
      propertiesFile,
    ];
    try {
      await withPrivateFiles(() => promisify(execFile)(java, args, { env, ...(o.signal && { signal: o.signal }) }));
    } catch (error) {
      o.signal?.throwIfAborted();
      throw new Error(
        `Kafka's storage could not be prepared by ${java} (Java 17 or later, from JAVA_HOME or PATH) ` +
          `with the jars in ${KAFKA_JARS}: ${String(error)}`,
        { cause: error },
      );
    }
  };

  return runServer({
    name: 'Kafka',
    dataDir,
    home,
    port: o.port,
    stopSteps: KAFKA_STOP_STEPS,
    log: o.log,
    signal: o.signal,
    prepare: async () => {
      // What an earlier version left in it may be readable by everybody.
      await chmod(home, 0o700);
      await writeFile(loggingFile, kafkaLogging(logFile), { mode: 0o600 });
    },
    commandFor: async (port) => {
      const { node, peers, clusterId } = await o.membership(port);
      nodeId = node.nodeId;
      launchId = `launch-${randomBytes(8).toString('hex')}`;
      // The formatter writes this file last, so a format that was cut short is done again.
      const isFormatted = existsSync(join(records, 'meta.properties'));
      const isAfterCrash = isFormatted && !existsSync(join(records, CLEAN_END_FILE));
      const settings = { port, node, peers, dataDir: records, launchId, isAfterCrash };
      await writeFile(propertiesFile, kafkaServerProperties(settings), { mode: 0o600 });
      if (!isFormatted) await format(clusterId);
      return {
        name: 'Kafka',
        command: java,
        args: [`-Xmx${o.heapMiB ?? DEFAULT_HEAP_MIB}m`, ...BROKER_FLAGS, ...flags, 'kafka.Kafka', propertiesFile],
        env,
        cwd: home,
        outputFile: join(home, 'output.log'),
        logFile,
      };
    },
    whoAnswers: (port) => whoAnswersKafka(port, { clusterId: kafkaClusterIdIn(records), nodeId, launchId }),
  });
}
