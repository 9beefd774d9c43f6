import { spawnSync } from 'node:child_process';
import { ROOT, runMain } from './bootstrap.mjs';
import { StepError } from './run-tool.mjs';

// `npm run audit`: asks the registry for known vulnerabilities of what is installed in production. Not every registry
// answers that, and not every machine reaches one: then it says so, and fails only where `--strict` asks for an answer.
const ARGS = ['audit', '--omit=dev', '--json', '--fetch-retries=0', '--fetch-timeout=15000'];
const REFUSED = ['high', 'critical'];

/** What npm printed; empty for what is not JSON. */
function reportIn(output) {
  try {
    return JSON.parse(output);
  } catch {
    return {};
  }
}

await runMain(async () => {
  const strict = process.argv.includes('--strict');
  const { stdout } = spawnSync('npm', ARGS, { cwd: ROOT, encoding: 'utf8' });
  const report = reportIn(stdout ?? '');
  const counts = report.metadata?.vulnerabilities;
  if (counts === undefined) {
    // The address of the registry, which follows, is nobody's business but npm's.
    const reason = String(report.message ?? 'no answer').split(' - ')[0];
    if (strict) throw new StepError(`The registry could not audit the dependencies: ${reason}`);
    return console.log(`Dependencies were not audited, since the registry did not respond: ${reason}`);
  }
  const found = Object.entries(counts).map(([severity, count]) => `${count} ${severity}`);
  const refused = REFUSED.reduce((sum, severity) => sum + (counts[severity] ?? 0), 0);
  if (refused > 0) throw new StepError(`Known vulnerabilities: ${found.join(', ')}. See npm audit.`);
  console.log(`Known vulnerabilities: ${found.join(', ')}.`);
});
