import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap, ROOT, runMain } from './bootstrap.mjs';
import { StepError } from './run-tool.mjs';

// `npm start [-- stage]`: the stage runs in this very process, so that signals to npm or to the process group reach it
// without a shell or a second Node in between.
await runMain(async () => {
  const [stage = 'standalone', ...rest] = process.argv.slice(2);
  const stages = readdirSync(join(ROOT, 'apps')).filter((app) => existsSync(join(ROOT, 'apps', app, 'src/main.ts')));
  if (!stages.includes(stage)) throw new StepError(`There is no stage "${stage}". Stages: ${stages.join(', ')}.`);
  const embeddedKafka = stage === 'standalone' && !process.env.KAFKA_BROKERS;
  await bootstrap({ build: true, embeddedKafka });

  const main = join(ROOT, 'dist/apps', stage, 'src/main.js');
  process.argv = [process.argv[0], main, ...rest];
  await import(pathToFileURL(main).href);
});
