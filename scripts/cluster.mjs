import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap, ROOT, runMain } from './bootstrap.mjs';

// `npm run cluster [-- demo]`: in this very process, so that signals reach it without a shell or a second Node in between.
await runMain(async () => {
  const [node, , ...rest] = process.argv;
  const isDemo = rest[0] === 'demo';
  await bootstrap({ build: true, embeddedKafka: true });
  const main = join(ROOT, isDemo ? 'dist/test/faults/cluster-demo/main.js' : 'dist/apps/cluster/src/main.js');
  process.argv = [node, main, ...(isDemo ? rest.slice(1) : rest)];
  await import(pathToFileURL(main).href);
});
