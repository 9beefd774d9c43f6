import { startEmbeddedStack, type EmbeddedStack } from '#libs/embedded-stack';
import { embeddedEnvironment } from '#libs/local-installation';
import { startGaplessApp, type GaplessApp } from '#libs/platform';
import { ApiModule } from '../../../apps/api/src/api.module.js';
import { apiHttp } from '../../../apps/api/src/http/api-http.js';
import { ProjectorModule } from '../../../apps/projector/src/projector.module.js';
import { SequencerModule } from '../../../apps/sequencer/src/sequencer.module.js';
import { serveOperations } from '../traffic/operations.js';
import { BENCH_ENVIRONMENT } from './gapless-process.js';

let stack: EmbeddedStack | undefined;
let running: GaplessApp | undefined;

const operations = {
  /** Starts the embedded servers on the directory of a Gapless, and all stages but the dispatcher. @returns where it answers */
  async start(dataDir: string): Promise<string> {
    const log = () => undefined;
    stack = await startEmbeddedStack({ dataDir, log });
    const servers = { DATABASE_URL: stack.databaseUrl, KAFKA_BROKERS: stack.brokers };
    const settings = await embeddedEnvironment({ ...BENCH_ENVIRONMENT, LOG_LEVEL: 'error' }, dataDir);
    const environment = { ...settings, ...servers };
    running = await startGaplessApp(
      {
        name: 'undispatched',
        modules: [ApiModule, SequencerModule, ProjectorModule],
        defaultPort: 0,
        http: apiHttp,
      },
      environment,
      new AbortController().signal,
    );
    return running.url;
  },

  async stop(): Promise<void> {
    await running?.stop();
    await stack?.stop();
  },
};

export type UndispatchedOperations = typeof operations;

serveOperations(operations);
