import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { StopSteps } from './end-process.js';
import { freePort } from './free-port.js';
import { kafkaAnswers } from './kafka-probe.js';
import { kafkaLogging, kafkaServerProperties } from './kafka-settings.js';
import { runServer } from './run-server.js';
import { serverEnvironment } from './server-process.js';

export interface EmbeddedKafka {
  /** `127.0.0.1:<port>`. */
  readonly brokers: string;
  /** Settles with the reason when the broker ends without `stop`; never, otherwise. */
  readonly died: Promise<Error>;
  /** Ends the broker, by force after 6 s; may be called any number of times. */
  readonly stop: () => Promise<void>;
}

const DEFAULT_PORT = 9092;
export const KAFKA_STOP_STEPS: StopSteps = [
  { signal: 'SIGTERM', waitMs: 6000 },
  { signal: 'SIGKILL', waitMs: 2000 },
];
/**
 * Serial collector and first compiler tier: measured on 2 cores they start in 1.5 s instead of 1.8 s, halve the CPU time
 * of the first seconds, take 50 MB less, and append as fast.
 */
const JVM_FLAGS = [
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-Djava.awt.headless=true',
  '-Dlog4j2.disableJmx=true',
];

/**
 * Runs a single-node Kafka under `<dataDir>/kafka`, on loopback: on `port` (9092) if that is free, else on a free one,
 * and the next time on the same one again. Its records outlive the process. A broker that a killed Gapless left behind
 * is stopped first.
 * @param o.jarsDir holds the broker's jars (docker/kafka/pom.xml); `java` is taken from JAVA_HOME or PATH.
 * @throws DataDirInUseError when another Gapless that is alive uses the directory.
 * @throws Error with the end of the broker's log when it does not start; the signal's reason when aborted.
 */
export async function startEmbeddedKafka(o: {
  readonly dataDir: string;
  readonly jarsDir: string;
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal;
  /** The port to prefer; 0 takes any free one. */
  readonly port?: number;
}): Promise<EmbeddedKafka> {
  const dataDir = resolve(o.dataDir);
  const home = join(dataDir, 'kafka');
  const records = join(home, 'records');
  const logFile = join(home, 'kafka.log');
  const propertiesFile = join(home, 'server.properties');
  const loggingFile = join(home, 'log4j2.xml');
  const javaHome = process.env['JAVA_HOME'];
  const java = javaHome === undefined || javaHome === '' ? 'java' : join(javaHome, 'bin', 'java');
  const flags = [...JVM_FLAGS, `-Dlog4j2.configurationFile=${loggingFile}`, '-cp', join(resolve(o.jarsDir), '*')];
  const env = serverEnvironment('JAVA_HOME', 'JAVA_TOOL_OPTIONS');

  const format = async (): Promise<void> => {
    // A leading hyphen would read as an option.
    const clusterId = `G${randomBytes(16).toString('base64url').slice(1)}`;
    const args = [...flags, 'kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', propertiesFile];
    try {
      await promisify(execFile)(java, args, { env, ...(o.signal && { signal: o.signal }) });
    } catch (error) {
      o.signal?.throwIfAborted();
      throw new Error(
        `Kafka's storage could not be prepared by ${java} (Java 17 or later, from JAVA_HOME or PATH) ` +
          `with the jars in ${o.jarsDir}: ${String(error)}`,
        { cause: error },
      );
    }
  };

  const { port, died, stop } = await runServer({
    name: 'Kafka',
    dataDir,
    home,
    port: o.port ?? DEFAULT_PORT,
    stopSteps: KAFKA_STOP_STEPS,
    log: o.log,
    signal: o.signal,
    prepare: () => writeFile(loggingFile, kafkaLogging(logFile)),
    commandFor: async (port) => {
      const controllerPort = await freePort();
      await writeFile(propertiesFile, kafkaServerProperties({ port, controllerPort, dataDir: records }));
      // The formatter writes this file last, so a format that was cut short is done again.
      if (!existsSync(join(records, 'meta.properties'))) await format();
      return {
        name: 'Kafka',
        command: java,
        args: ['-Xmx512m', ...flags, 'kafka.Kafka', propertiesFile],
        env,
        cwd: home,
        outputFile: join(home, 'output.log'),
        logFile,
      };
    },
    answers: kafkaAnswers,
  });
  return { brokers: `127.0.0.1:${port}`, died, stop };
}
