import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { ROOT, runMain } from './bootstrap.mjs';
import { runTool, StepError } from './run-tool.mjs';

const PROJECTS = join(ROOT, 'test/packages/projects');
const PACKED = join(ROOT, 'dist/packages');
const ANSWERS = '{"answers":[204,401],"handled":["ticket.created"]}';
const NEST_ANSWERS = '{"answers":[204,401,204,401],"handled":["ticket.created"]}';
const tsc = ['node_modules/typescript/bin/tsc', '-p', '.'];

/** Each step is run by Node in the project; the last one must print the line. */
const KINDS = {
  commonjs: { steps: [tsc, ['dist/main.js']], prints: '{"made":8,"verdict":false}' },
  'nest-10': { steps: [tsc, ['dist/main.js']], prints: NEST_ANSWERS },
  'nest-12': { files: 'nest-10/main.ts', steps: [tsc, ['dist/main.js']], prints: NEST_ANSWERS },
  'next-16': { steps: [['node_modules/next/dist/bin/next', 'build'], ['serve-and-push.mjs']], prints: ANSWERS },
  deno: {
    steps: [
      ['node_modules/deno/bin.cjs', 'check', 'main.ts'],
      ['node_modules/deno/bin.cjs', 'run', '--allow-all', 'main.ts'],
    ],
    prints: ANSWERS,
  },
  tools: { steps: toolSteps, prints: '' },
};

const HELP = `npm run test:packages [-- <project>…]

Packs the npm packages, installs them into projects of other people's making, builds these and pushes to them.

Projects: ${Object.keys(KINDS).join(', ')}`;

/** publint and "Are the types wrong" for each package. */
function toolSteps(tarballs) {
  return tarballs.flatMap((tarball) => [
    ['node_modules/publint/src/cli.js', 'run', tarball, '--strict'],
    // A program has no types.
    ...(tarball.includes('gapless-cli') ? [] : [['node_modules/@arethetypeswrong/cli/dist/index.js', tarball]]),
  ]);
}

async function testProject(name, { files, steps, prints }, tarballs) {
  const cwd = mkdtempSync(join(tmpdir(), `gapless-${name}-`));
  const advice = `The project is ${cwd}.`;
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' };
  cpSync(join(PROJECTS, name), cwd, { recursive: true });
  if (files !== undefined) cpSync(join(PROJECTS, files), join(cwd, 'main.ts'));
  const libraries = tarballs.filter((tarball) => !tarball.includes('gapless-cli'));
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock'];
  await runTool('npm', [...install, ...(name === 'tools' ? [] : libraries)], { cwd, advice, env });
  let output = '';
  for (const step of typeof steps === 'function' ? steps(tarballs) : steps) {
    output = await runTool(process.execPath, step, { cwd, advice, env });
  }
  if (!output.includes(prints)) throw new StepError(`${name} printed:\n${output}\ninstead of ${prints}\n${advice}`);
  rmSync(cwd, { recursive: true, force: true });
}

await runMain(async () => {
  const wanted = process.argv.slice(2);
  if (wanted.includes('--help') || wanted.includes('-h')) return console.log(HELP);
  const unknown = wanted.find((name) => KINDS[name] === undefined);
  if (unknown !== undefined) throw new StepError(`There is no project "${unknown}".\n\n${HELP}`);
  await runTool(process.execPath, [join(ROOT, 'scripts/packages.mjs')], { cwd: ROOT, advice: 'Fix the packages.' });
  mkdirSync(PACKED, { recursive: true });
  const tarballs = readdirSync(PACKED)
    .filter((name) => name.endsWith('.tgz'))
    .map((name) => join(PACKED, name));
  for (const [name, kind] of Object.entries(KINDS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const began = performance.now();
    await testProject(name, kind, tarballs);
    console.log(`${name.padEnd(10)} passed in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  }
});
