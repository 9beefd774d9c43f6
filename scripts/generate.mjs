import { bootstrap, ROOT, runMain } from './bootstrap.mjs';
import { GENERATED } from './generated.mjs';
import { runNode } from './jest-run.mjs';
import { StepError } from './run-tool.mjs';

const HELP = `npm run generate                      writes all that is generated from other sources
npm run generate -- <part> [args]     one part; the arguments go to what writes it

Parts: ${GENERATED.map(({ name }) => name).join(', ')}`;

await runMain(async () => {
  const [wanted, ...extra] = process.argv.slice(2);
  if (wanted === '--help' || wanted === '-h') return console.log(HELP);
  const parts = GENERATED.filter(({ name }) => wanted === undefined || name === wanted);
  if (parts.length === 0) throw new StepError(`There is no part "${wanted}".\n\n${HELP}`);
  await bootstrap({ build: true, embeddedKafka: false });
  for (const { name, args } of parts) {
    if (!(await runNode(ROOT, [...args, ...extra]))) throw new StepError(`${name} was not written.`);
  }
});
