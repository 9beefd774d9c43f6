import { join } from 'node:path';
import { ROOT, runMain } from './bootstrap.mjs';
import { runNode } from './jest-run.mjs';
import { markdownTable, outsideTools } from './outside-tools.mjs';

const HELP = `npm run test:tools

Runs other people's tools on Gapless, and prints their results as a table. It takes some minutes.`;

/** Runs of `npm test -- …`, except for the packages, which have a command of their own. */
const runOf = (name) =>
  name === 'packages'
    ? [join(ROOT, 'scripts/test-packages.mjs')]
    : [join(ROOT, 'scripts/test.mjs'), ...name.split(' ')];

await runMain(async () => {
  const [wanted] = process.argv.slice(2);
  if (wanted === '--help' || wanted === '-h') return console.log(HELP);
  const tools = outsideTools(ROOT);
  const results = new Map();
  for (const run of new Set(tools.map((tool) => tool.run))) {
    results.set(run, (await runNode(ROOT, runOf(run))) ? 'no finding' : 'FAILED');
  }
  const rows = tools.map(({ tool, version, looksAt, run }) => [tool, version, looksAt, run, results.get(run)]);
  console.log(`\n${markdownTable([['tool', 'version', 'looks at', 'run', 'result'], ...rows])}`);
  if ([...results.values()].includes('FAILED')) process.exitCode = 1;
});
