import { setMaxListeners } from 'node:events';
import { isPostgresAway, Store } from '#libs/postgres';
import { fitOwnTopics, writeCredentials } from '#libs/local-installation';
import { Metrics } from '#libs/telemetry';
import { giveBackMemory, startGaplessApp, type GaplessApp } from '#libs/platform';
import { STAGES, startStep, untilAborted, type Environment, type HealthBoard } from '#libs/runtime';
import { isGiven } from './is-given.js';
import { readyText } from './ready-text.js';
import { stageEnvironment } from './stage-environment.js';
import { stageModules } from './stage-modules.js';
import type { StageThread } from './stage-thread.js';
import type { Server } from './start-servers.js';
import { apiHttp } from '../../api/src/http/api-http.js';

export interface StagesToRun {
  /** The servers that were started for the stages. */
  readonly servers: readonly Server[];
  readonly health: HealthBoard;
  readonly pushing: StageThread;
  readonly dataDir: string;
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Runs the stages until the signal is aborted. @throws Error when the pushing thread or a server ends by itself */
export async function runStages(given: Environment, parts: StagesToRun): Promise<void> {
  const { servers, health, pushing, dataDir, print, signal } = parts;
  const isEmbedded = servers.length > 0;
  const environment = isEmbedded ? await stageEnvironment(process.env, given, dataDir) : given;
  // If the environment names its brokers, their operators decide about topics.
  if (!isGiven(process.env, 'KAFKA_BROKERS')) await fitOwnTopics(environment, { print, signal });
  pushing.start(environment);
  const lost = new AbortController();
  const died = Promise.race([pushing.died, ...servers.map((server) => server.died)]);
  // Without its servers, the start would never end.
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
        modules: await stageModules('main'),
        defaultPort: STAGES.api.port,
        // Another process may have taken the usual port since it was checked.
        mayMove: isEmbedded && !isGiven(given, 'PORT'),
        http: apiHttp,
        health,
      },
      environment,
      starting,
    );
    running.app.get(Metrics).include(() => pushing.measured());
    await giveBackMemory();
    await pushing.ready(starting);
    if (isEmbedded) await announce(running, { ...parts, signal: starting });
    const data = isEmbedded ? { path: dataDir, isNamed: isGiven(given, 'DATA_DIR') } : null;
    print(readyText(running.url, running.config, data));
    const death = await Promise.race([untilAborted(signal), died]);
    if (death instanceof Error) throw death;
    print('Gapless is stopping …');
  } finally {
    await Promise.all([running?.stop(), pushing.stop()]);
  }
}

/** Writes the addresses and the demo keys to `credentials.json`. */
async function announce({ app, url, config }: GaplessApp, { dataDir, print, signal }: StagesToRun): Promise<void> {
  const reachable = { base_url: url, kafka_brokers: config.kafkaBrokers.join(','), database_url: config.databaseUrl };
  await startStep('Postgres to take the demo keys', () => writeCredentials(dataDir, app.get(Store), reachable), {
    isPassing: isPostgresAway,
    onWait: print,
    signal,
  });
}
