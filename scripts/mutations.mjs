import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap, ROOT, runMain } from './bootstrap.mjs';

// `npm run test:mutations [-- mutation…]`.
process.setSourceMapsEnabled(true);

await runMain(async () => {
  await bootstrap({ build: true, embeddedKafka: true, print: console.error });
  await import(pathToFileURL(join(ROOT, 'dist/test/mutations/main.js')).href);
});
