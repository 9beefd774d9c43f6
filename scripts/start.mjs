import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap, ROOT, runMain } from './bootstrap.mjs';
import { StepError } from './run-tool.mjs';

const HELP = `npm start               Kafka, Postgres and every stage in one process; Ctrl-C stops it all
npm start -- servers    Kafka and Postgres alone, for commands that need all stages stopped
npm start -- <stage>    one stage alone, which needs KAFKA_BROKERS, DATABASE_URL and
                        SECRET_ENCRYPTION_KEYS: STAGES

It installs, fetches and builds everything that is missing first.

Settings are environment variables, such as PORT=4000 npm start:
  PORT             the port of the API and the dashboard (3000, or a free one if that is taken)
  DATA_DIR         the folder for all data (.data)
  KAFKA_BROKERS    your Kafka, instead of one in DATA_DIR
  DATABASE_URL     your Postgres, instead of one in DATA_DIR
docs/settings.md lists all of them.

With a Kafka or Postgres of its own, it writes its address and two keys to DATA_DIR/credentials.json.

Related commands:
  npm run -s receiver             receives and prints events
  npm run -s gapless -- --help    emits, reads and verifies events, manages keys
  npm run cluster -- --help       brokers and stages as in production, on this machine
  npm test -- --help              the tests

README.md shows the first steps, docs/operate.md how to run Gapless.`;

/** These have a command line of their own, and a script of `npm run`. */
const TOOLS = ['cli', 'cluster', 'reference-consumer'];

/** The standalone app runs them without stages. */
const SERVERS = 'servers';

// `npm start [-- stage]`: the stage runs in this very process, so that signals to npm or to the process group reach it
// without a shell or a second Node in between.
await runMain(async () => {
  const [stage = 'standalone', ...rest] = process.argv.slice(2);
  const app = stage === SERVERS ? 'standalone' : stage;
  const apps = readdirSync(join(ROOT, 'apps')).filter((name) => existsSync(join(ROOT, 'apps', name, 'src/main.ts')));
  const stages = apps.filter((name) => !TOOLS.includes(name) && name !== 'standalone').join(', ');
  const unread = TOOLS.includes(stage) ? [] : [stage, ...rest];
  if (unread.some((argument) => ['--help', '-h'].includes(argument))) {
    console.log(HELP.replace('STAGES', stages));
    return;
  }
  const unknown = apps.includes(app) ? unread[1] : stage;
  if (unknown !== undefined) {
    const what = unknown === stage && !stage.startsWith('-') ? 'stage' : 'option';
    throw new StepError(
      `There is no ${what} "${unknown}". Stages: ${stages}.\n\`npm start -- --help\` lists what there is.`,
    );
  }
  const embeddedKafka = app === 'standalone' && (process.env.KAFKA_BROKERS ?? '').trim() === '';
  await bootstrap({ build: true, embeddedKafka });

  const main = join(ROOT, 'dist/apps', app, 'src/main.js');
  process.argv = [process.argv[0], main, ...(app === stage ? rest : [stage])];
  await import(pathToFileURL(main).href);
});
