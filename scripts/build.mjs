import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { constants, brotliCompressSync, gzipSync } from 'node:zlib';
import { runTool } from './run-tool.mjs';

const DASHBOARD = join('apps', 'dashboard');
const OUTPUT = join('dist', 'dashboard');

/** The parts that are built separately, so that a change of the one does not build the other. */
const PARTS = [
  {
    name: 'sources',
    directories: [
      'apps',
      'libs',
      'test/bench',
      'test/faults',
      'test/hostile',
      'test/mutations',
      'test/screenshots',
      'test/simulation',
      'test/support',
      'test/vectors',
    ],
    without: DASHBOARD,
    settings: ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'],
    make: compile,
  },
  { name: 'dashboard', directories: [DASHBOARD], settings: ['package-lock.json'], make: bundle },
];

/** Beside the output, so that removing `dist` removes it too. */
const stampOf = (root, part) => join(root, `dist/.${part.name}`);

/** Names, sizes and times of all that the output depends on. */
function fingerprint(root, { directories, without, settings }) {
  const hash = createHash('sha256');
  const add = (path) => {
    const { size, mtimeMs } = statSync(join(root, path));
    hash.update(`${path}\0${size}\0${mtimeMs}\n`);
  };
  settings.forEach(add);
  for (const directory of directories) {
    if (!existsSync(join(root, directory))) continue;
    const files = readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length + 1))
      .filter((path) => without === undefined || !path.startsWith(without));
    files.sort().forEach(add);
  }
  return hash.digest('hex');
}

function isPartBuilt(root, part) {
  const stamp = stampOf(root, part);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint(root, part);
}

/** @param {string} root */
export function isBuilt(root) {
  return PARTS.every((part) => isPartBuilt(root, part));
}

/**
 * Compiles the apps and libs to `dist`, and bundles the dashboard to `dist/dashboard`; only what has changed. Fails on a
 * type error.
 * @param {string} root
 */
export async function build(root) {
  for (const part of PARTS.filter((each) => !isPartBuilt(root, each))) {
    // Taken first: what is edited while the compiler runs is built the next time.
    const sources = fingerprint(root, part);
    rmSync(stampOf(root, part), { force: true });
    await part.make(root);
    mkdirSync(dirname(stampOf(root, part)), { recursive: true });
    writeFileSync(stampOf(root, part), sources);
  }
}

const advice = 'The sources have these errors. Fix them, then run the command again.';

async function compile(root) {
  const compiler = join(root, 'node_modules/typescript-compiler/bin/tsc');
  await runTool(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, advice });
}

/** Types are checked by the tests: a bundle needs none, and who starts it should not wait for them. */
async function bundle(root) {
  const vite = join(root, 'node_modules/vite/bin/vite.js');
  const config = join(DASHBOARD, 'vite.config.ts');
  await runTool(process.execPath, [vite, 'build', '--config', config, '--logLevel', 'warn'], { cwd: root, advice });
  compressFiles(join(root, OUTPUT));
}

const SMALLEST_WORTH_IT = 256;

/** Leaves compressed files beside the others, so that the api does not compress the same bytes with every request. */
function compressFiles(directory) {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(js|css|html|svg)$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  for (const file of files) {
    const bytes = readFileSync(file);
    if (bytes.length < SMALLEST_WORTH_IT) continue;
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
  }
}
