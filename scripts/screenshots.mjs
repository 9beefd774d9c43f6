import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap, ROOT, runMain } from './bootstrap.mjs';
import { installChromium } from './chromium.mjs';

// `npm run screenshots`: what is shown has to be what is in the tree, so it is built first.
process.setSourceMapsEnabled(true);

await runMain(async () => {
  await bootstrap({ build: true, embeddedKafka: true, print: console.error });
  await installChromium(ROOT);
  await import(pathToFileURL(join(ROOT, 'dist/test/screenshots/main.js')).href);
});
