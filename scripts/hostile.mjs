import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap, ROOT, runMain } from './bootstrap.mjs';

// `npm run test:hostile [-- attack…]`: what is attacked is what is in the tree, so it is built first.
process.setSourceMapsEnabled(true);

await runMain(async () => {
  await bootstrap({ build: true, embeddedKafka: true, print: console.error });
  await import(pathToFileURL(join(ROOT, 'dist/test/hostile/main.js')).href);
});
