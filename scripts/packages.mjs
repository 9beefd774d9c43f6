import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { bootstrap, ROOT, runMain } from './bootstrap.mjs';
import { runTool } from './run-tool.mjs';

/** Each entry is a subpath of the package; `index` is the package itself. */
const PACKAGES = {
  consumer: {
    index: 'index',
    express: 'adapters/express',
    fastify: 'adapters/fastify',
    nest: 'adapters/nest',
    fetch: 'adapters/fetch',
    postgres: 'postgres/index',
  },
  cli: { gapless: 'gapless' },
  producer: { index: 'index', kafka: 'kafka/kafka-sink', outbox: 'outbox/index' },
};

/** Packages that are only run. Nobody imports them, so they have neither CommonJS nor types. */
const PROGRAMS = new Set(['cli']);

/** Libs are reached by relative paths, and become part of the package; everything else its users install. */
const external = (id) => !id.startsWith('.') && !isAbsolute(id);

/** Warnings are mistakes, such as a lib that is not there; but not that the compiler's decorators ask for `this`. */
const onwarn = ({ code, message }) => {
  if (code !== 'THIS_IS_UNDEFINED') throw new Error(message);
};

function inputs(directory, extension, entries) {
  return Object.fromEntries(
    Object.entries(entries).map(([entry, source]) => [entry, join(directory, `${source}.${extension}`)]),
  );
}

function names(extension) {
  return { entryFileNames: `[name].${extension}`, chunkFileNames: `shared-[hash].${extension}` };
}

/** Writes what is to be published to `dist/packages/<name>`, from what the compiler has made of the lib. */
async function buildPackage(name, entries) {
  const { rollup } = await import('rollup');
  const target = join(ROOT, 'dist/packages', name);
  const dir = join(target, 'dist');
  rmSync(target, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });

  const code = await rollup({ input: inputs(join(ROOT, 'dist/libs', name, 'src'), 'js', entries), external, onwarn });
  await code.write({ dir, format: 'es', ...names('js') });
  if (!PROGRAMS.has(name)) await code.write({ dir, format: 'cjs', ...names('cjs') });
  await code.close();
  if (!PROGRAMS.has(name)) await buildTypes(name, entries, dir);

  for (const file of ['package.json', 'README.md', 'CHANGELOG.md']) {
    copyFileSync(join(ROOT, 'libs', name, file), join(target, file));
  }
  copyFileSync(join(ROOT, 'LICENSE'), join(target, 'LICENSE'));
}

async function buildTypes(name, entries, dir) {
  const { rollup } = await import('rollup');
  const { dts } = await import('rollup-plugin-dts');
  const types = await rollup({
    input: inputs(join(ROOT, 'libs', name, 'src'), 'ts', entries),
    external,
    onwarn,
    plugins: [dts({ tsconfig: join(ROOT, 'tsconfig.json') })],
  });
  await types.write({ dir, format: 'es', ...names('d.ts') });
  await types.write({ dir, format: 'es', ...names('d.cts') });
  await types.close();
}

// `npm run packages`: builds the npm packages, and packs them as `dist/packages/<name>-<version>.tgz`.
await runMain(async () => {
  await bootstrap({ build: true, embeddedKafka: false });
  for (const [name, entries] of Object.entries(PACKAGES)) {
    await buildPackage(name, entries);
    const cwd = join(ROOT, 'dist/packages');
    await runTool('npm', ['pack', `./${name}`, '--silent'], { cwd, advice: 'Fix the package, then run this again.' });
  }
});
