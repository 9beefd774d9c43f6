import { setMaxListeners } from 'node:events';
import { resolve } from 'node:path';
import type { Type } from '@nestjs/common';
import { InstallationMismatchError } from '#libs/domain';
import { isPostgresAway, Store, TenantLoginError } from '#libs/postgres';
import { TopicMismatchError } from '#libs/kafka-log';
import { DataDirInUseError, forgetMembers, startEmbeddedKafka, startEmbeddedPostgres } from '#libs/embedded-stack';
import { embeddedEnvironment, fitOwnTopics, writeCredentials } from '#libs/local-installation';
import { Metrics } from '#libs/telemetry';
import { giveBackMemory, startGaplessApp, stopSignal, untilAborted, type GaplessApp } from '#libs/platform';
import {
  ConfigError,
  HealthBoard,
  SETTINGS,
  STAGES,
  startStep,
  StartStepError,
  type Environment,
  type StageOn,
} from '#libs/runtime';
import { portToTake } from './port-to-take.js';
import { readyText } from './ready-text.js';
import { StageThread } from './stage-thread.js';
import { AlertingModule } from '../../alerting/src/alerting.module.js';
import { ApiModule } from '../../api/src/api.module.js';
import { apiHttp } from '../../api/src/http/api-http.js';
import { RouterModule } from '../../router/src/router.module.js';
import { SequencerModule } from '../../sequencer/src/sequencer.module.js';

interface Server {
  stop(): Promise<void>;
  readonly died: Promise<Error>;
}

const MODULES: Readonly<Record<StageOn<'main'>, Type>> = {
  api: ApiModule,
  sequencer: SequencerModule,
  router: RouterModule,
  alerting: AlertingModule,
};
const signal = stopSignal();
const dataDir = resolve(process.env['DATA_DIR'] ?? '.data');
const jarsDir = resolve(import.meta.dirname, '../../../../.cache/kafka-4.3.1');

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A broker that was just started still waits for the members of a Gapless that was killed with it. */
async function forgetTheDead(brokers: string): Promise<void> {
  try {
    const members = await forgetMembers({ brokers, signal });
    if (members > 0) print(`Kafka removed ${members} group members that a killed Gapless had left`);
  } catch (error) {
    print(`Kafka may wait for group members that no longer exist: ${String(error)}`);
  }
}

/** Settings of how to get into brokers that are somebody else's. */
const ACCESS_SETTINGS = [SETTINGS.kafkaTls, SETTINGS.kafkaSasl, SETTINGS.kafkaUsername, SETTINGS.kafkaPassword];

function isGiven(text = ''): boolean {
  return text.trim() !== '' && text.trim() !== 'false';
}

/**
 * Starts the servers that the environment does not name.
 * @throws ConfigError when it says how to get into brokers, and not where they are
 */
async function startServers(servers: Server[]): Promise<Environment> {
  const unused = process.env['KAFKA_BROKERS'] ? [] : ACCESS_SETTINGS.filter(({ name }) => isGiven(process.env[name]));
  if (unused.length > 0) {
    throw new ConfigError(
      unused.map(({ name }) => `${name} is set, but KAFKA_BROKERS is not, and the embedded broker needs no sign-in`),
    );
  }
  const options = { dataDir, log: print, signal };
  const kafka = process.env['KAFKA_BROKERS'] ? null : startEmbeddedKafka({ ...options, jarsDir });
  const postgres = process.env['DATABASE_URL'] ? null : startEmbeddedPostgres(options);
  // While Postgres starts, and before any stage joins its group.
  const forgotten = kafka?.then(({ brokers }) => forgetTheDead(brokers)).catch(() => undefined);
  const started = await Promise.allSettled([kafka, postgres]);
  for (const server of started) if (server.status === 'fulfilled' && server.value !== null) servers.push(server.value);
  for (const server of started) if (server.status === 'rejected') throw server.reason;
  await forgotten;
  return {
    ...process.env,
    ...(kafka === null ? {} : { KAFKA_BROKERS: (await kafka).brokers }),
    ...(postgres === null ? {} : { DATABASE_URL: (await postgres).url }),
  };
}

async function run(servers: Server[]): Promise<void> {
  print(`Gapless is starting; its data is in ${dataDir}`);
  const health = new HealthBoard();
  // It loads while the servers start.
  const pushing = new StageThread(health);
  try {
    await runStages(await startServers(servers), { servers, health, pushing });
  } finally {
    await pushing.stop();
  }
}

interface Parts {
  readonly servers: readonly Server[];
  readonly health: HealthBoard;
  readonly pushing: StageThread;
}

async function runStages(given: Environment, { servers, health, pushing }: Parts): Promise<void> {
  const isEmbedded = servers.length > 0;
  const environment = isEmbedded
    ? { ...(await embeddedEnvironment(given, dataDir)), PORT: await portToTake(given) }
    : given;
  // An environment that names its brokers has somebody who decides about them.
  if (!process.env['KAFKA_BROKERS']) await fitOwnTopics(environment, { print, signal });
  pushing.start(environment);
  const lost = new AbortController();
  const died = Promise.race([pushing.died, ...servers.map((server) => server.died)]);
  // Without its servers a start would wait for ever.
  void died.then((reason) => {
    lost.abort(reason);
  });
  const starting = AbortSignal.any([signal, lost.signal]);
  setMaxListeners(0, starting);
  let running: GaplessApp | undefined;
  try {
    running = await startGaplessApp(
      {
        name: 'standalone',
        modules: Object.values(MODULES),
        defaultPort: STAGES.api.port,
        // Between the look at the usual port and this start somebody may have taken it.
        mayMove: isEmbedded && given['PORT'] === undefined,
        http: apiHttp,
        health,
      },
      environment,
      starting,
    );
    running.app.get(Metrics).include(() => pushing.measured());
    await giveBackMemory();
    await pushing.ready(starting);
    if (isEmbedded) await announce(running);
    print(readyText(running.url, running.config, isEmbedded ? resolve(dataDir, 'credentials.json') : null));
    const death = await Promise.race([untilAborted(signal), died]);
    if (death instanceof Error) throw death;
    print('Gapless is stopping …');
  } finally {
    await Promise.all([running?.stop(), pushing.stop()]);
  }
}

/** Writes down how to reach what runs. */
async function announce({ app, url, config }: GaplessApp): Promise<void> {
  const reachable = { base_url: url, kafka_brokers: config.kafkaBrokers.join(','), database_url: config.databaseUrl };
  await startStep('Postgres to take the demo keys', () => writeCredentials(dataDir, app.get(Store), reachable), {
    isPassing: isPostgresAway,
    onWait: print,
    signal,
  });
}

function explain(error: unknown): string {
  if (
    error instanceof ConfigError ||
    error instanceof DataDirInUseError ||
    error instanceof StartStepError ||
    error instanceof InstallationMismatchError ||
    error instanceof TenantLoginError ||
    error instanceof TopicMismatchError
  )
    return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

const servers: Server[] = [];
try {
  await run(servers);
} catch (error) {
  if (!signal.aborted) {
    process.stderr.write(`gapless: ${explain(error)}\n`);
    process.exitCode = 1;
  }
} finally {
  await Promise.all(servers.map((server) => server.stop()));
  print('Gapless has stopped.');
}
process.exit();
