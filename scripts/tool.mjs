import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap, ROOT, runMain } from './bootstrap.mjs';
import { installChromium } from './chromium.mjs';
import { StepError } from './run-tool.mjs';

const TOOLS = {
  bench: { embeddedKafka: true },
  faults: { embeddedKafka: true },
  hostile: { embeddedKafka: true },
  mutations: { embeddedKafka: true },
  screenshots: { embeddedKafka: true, chromium: true },
  simulation: { embeddedKafka: false },
};

// `npm run bench` and its like: what is measured or attacked has to be what is in the tree, so it is built first.
process.setSourceMapsEnabled(true);

await runMain(async () => {
  const [node, , tool, ...rest] = process.argv;
  const needs = TOOLS[tool];
  if (needs === undefined) throw new StepError(`There is no tool "${tool}". Tools: ${Object.keys(TOOLS).join(', ')}.`);
  await bootstrap({ build: true, embeddedKafka: needs.embeddedKafka });
  if (needs.chromium) await installChromium(ROOT);
  const main = join(ROOT, 'dist/test', tool, 'main.js');
  process.argv = [node, main, ...rest];
  await import(pathToFileURL(main).href);
});
