import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap, ROOT, runMain } from './bootstrap.mjs';

// `npm run simulate [-- options]`: what is simulated is what is in the tree, so it is built first.
process.setSourceMapsEnabled(true);

await runMain(async () => {
  await bootstrap({ build: true, embeddedKafka: false, print: console.error });
  await import(pathToFileURL(join(ROOT, 'dist/test/simulation/main.js')).href);
});
