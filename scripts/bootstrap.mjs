import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { alone } from './alone.mjs';
import { build, isBuilt } from './build.mjs';
import { dependenciesAreInstalled, installDependencies } from './dependencies.mjs';
import { archiveKafkaClasses, kafkaClassesAreThere } from './kafka-classes.mjs';
import { fetchKafkaJars, kafkaJarsAreThere } from './kafka-jars.mjs';
import { checkJava, checkNode } from './prerequisites.mjs';
import { StepError } from './run-tool.mjs';

export const ROOT = join(fileURLToPath(new URL('.', import.meta.url)), '..');

/**
 * Brings a fresh checkout to where it can run, and does nothing where nothing is to be done. Uses nothing but Node's own
 * modules, since nothing else may be there yet.
 * @param {{build: boolean, embeddedKafka: boolean}} options
 * @throws {StepError} that says what to do.
 */
export async function bootstrap({ build: wantsBuild, embeddedKafka }) {
  checkNode();
  if (embeddedKafka) await checkJava();
  const all = [
    {
      title: 'Installing dependencies',
      isDone: () => dependenciesAreInstalled(ROOT),
      act: () => installDependencies(ROOT),
    },
    {
      title: 'Fetching Kafka',
      isDone: () => !embeddedKafka || kafkaJarsAreThere(ROOT),
      act: () => fetchKafkaJars(ROOT),
    },
    {
      title: 'Preparing Kafka',
      isDone: () => !embeddedKafka || kafkaClassesAreThere(ROOT),
      act: () => archiveKafkaClasses(ROOT),
    },
    { title: 'Building', isDone: () => !wantsBuild || isBuilt(ROOT), act: () => build(ROOT) },
  ];
  const stepsToDo = () => all.filter((step) => !step.isDone());
  if (stepsToDo().length === 0) return;
  const onWait = (pid) => console.error(`Waiting for process ${pid}, which prepares this folder …`);
  await alone(join(ROOT, '.cache/preparing'), () => runSteps(stepsToDo()), { onWait });
}

/**
 * Runs the steps one after the other. Their progress goes to standard error: standard output belongs to what runs after
 * them, such as the key that `keys create` prints.
 * @param {readonly {title: string, act: () => Promise<void>}[]} steps
 */
export async function runSteps(steps) {
  const { isTTY } = process.stderr;
  for (const [index, { title, act }] of steps.entries()) {
    const began = performance.now();
    const headline = `[${index + 1}/${steps.length}] ${title} …`;
    // Where there is no terminal to complete the line on, the line comes whole.
    if (isTTY) process.stderr.write(headline);
    else console.error(headline);
    try {
      await act();
    } catch (error) {
      if (isTTY) console.error(' failed');
      throw error;
    }
    const took = `${((performance.now() - began) / 1000).toFixed(1)} s`;
    console.error(isTTY ? ` ${took}` : `${headline} ${took}`);
  }
}

/**
 * Runs a script's main function, and ends the process with a message instead of a stack when a step failed.
 * @param {() => Promise<void>} main
 */
export async function runMain(main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof StepError)) throw error;
    console.error(`\n${error.message}`);
    process.exit(1);
  }
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  await runMain(() =>
    bootstrap({ build: process.argv.includes('--build'), embeddedKafka: !process.env.KAFKA_BROKERS }),
  );
}
