import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeDraft } from './draft.mjs';
import { kafkaClasses, kafkaJarsDir } from './kafka-jars.mjs';
import { javaCommand, javaEnvironment } from './prerequisites.mjs';
import { runTool, spawnWithUs, StepError } from './run-tool.mjs';

// Relative to the broker's working directory. Java reads settings as Latin-1, so the path of a checkout may not be in them.
const PROPERTIES = 'server.properties';
const RECORDS = 'records';
const CLASSES = 'classes.jsa';
const ADVICE = 'Check that Java 17 or later works, then run the command again.';
const START_LIMIT_MS = 120_000;
const LOOK_EVERY_MS = 50;
const END_LIMIT_MS = 10_000;

/** @param {string} root */
export const kafkaClassesAreThere = (root) => existsSync(kafkaClasses(root));

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function answers(port) {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/**
 * Runs a broker of its own once, whose JVM writes down what it has loaded when it ends. Not every JVM can do that, and
 * Kafka runs without it, too.
 * @param {string} root
 */
export async function archiveKafkaClasses(root) {
  const draft = makeDraft(join(root, '.cache'), 'archiving');
  try {
    await runBroker(draft, join(kafkaJarsDir(root), '*'));
    const classes = join(draft, CLASSES);
    if (!existsSync(classes)) throw new StepError('This Java keeps no archive of classes.');
    renameSync(classes, kafkaClasses(root));
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    console.error(`Kafka will start more slowly: ${error.message}`);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/**
 * @param {string} directory
 * @param {string} classPath the broker's: it has to be the same later on
 */
async function runBroker(directory, classPath) {
  const [port, controllerPort] = [await freePort(), await freePort()];
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `BROKER://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'listener.security.protocol.map': 'BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'BROKER',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': RECORDS,
  };
  writeFileSync(
    join(directory, PROPERTIES),
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  const format = ['kafka.tools.StorageTool', 'format', '-t', 'AAAAAAAAAAAAAAAAAAAAAA', '-c', PROPERTIES];
  await runTool(javaCommand(), ['-XX:TieredStopAtLevel=1', '-cp', classPath, ...format], {
    cwd: directory,
    env: javaEnvironment(),
    advice: ADVICE,
  });
  const flags = ['-Xmx512m', '-XX:+UseParallelGC', `-XX:ArchiveClassesAtExit=${CLASSES}`];
  const broker = spawnWithUs(javaCommand(), [...flags, '-cp', classPath, 'kafka.Kafka', PROPERTIES], {
    cwd: directory,
    env: javaEnvironment(),
    stdio: 'ignore',
  });
  let isOver = false;
  const ended = new Promise((resolve) => {
    broker.once('error', resolve).once('exit', resolve);
  }).then(() => (isOver = true));
  try {
    const deadline = performance.now() + START_LIMIT_MS;
    while (!(await answers(port))) {
      if (isOver || performance.now() > deadline) throw new StepError(`Kafka does not start. ${ADVICE}`);
      await delay(LOOK_EVERY_MS);
    }
    broker.kill();
    await ended;
  } finally {
    broker.kill();
    await Promise.race([ended, delay(END_LIMIT_MS, undefined, { ref: false })]);
  }
}
