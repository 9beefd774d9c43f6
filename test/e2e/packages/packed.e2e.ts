import { execFile } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EVENT_TYPES } from '#libs/consumer';

const ROOT = resolve(import.meta.dirname, '../../..');
const SAMPLE = join(import.meta.dirname, 'project/sample.mts');
const NAMES = ['cli', 'consumer', 'producer'];
/** What the code of the READMEs and of a page takes from the project around it. */
const AROUND = `
declare global {
  const app: import('express').Express;
  const stream: import('@gapless/consumer').EventStream<unknown>;
  const log: { error(...details: unknown[]): void };
  const signal: AbortSignal;
  const handle: (event: import('@gapless/consumer').GaplessEvent) => Promise<void>;
  const ticket: { id: string };
  const brokers: string[];
  const body: Buffer;
  const request: { headers: Record<string, string | undefined> };
  const load: () => Promise<import('@gapless/consumer').PushGapsState | null>;
  const store: (state: import('@gapless/consumer').PushGapsState) => Promise<void>;
  const [ORG_ID, API_KEY, SERVICE_KEY, SECRET, DATABASE_URL]: string[];
}
export {};
`;
/** What the sample uses beside the packages: their optional peers, and types. */
const PEERS = [
  '@nestjs/common',
  '@types/express',
  '@types/node',
  '@types/pg',
  'express',
  'fastify',
  'kafkajs',
  'pg',
  'typeorm',
];

const exec = promisify(execFile);

/** Runs a tool, and fails with all that it printed. */
async function run(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
  try {
    return (await exec(command, args, { cwd })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`${[command, ...args].join(' ')}\n${stdout ?? ''}${stderr ?? String(error)}`, { cause: error });
  }
}

/** A project that compiles to CommonJS without knowing `exports` finds subpaths by `typesVersions`. */
const SUBPATHS = ['consumer/express', 'consumer/fetch', 'consumer/postgres', 'producer/kafka', 'producer/outbox']
  .map((path, index) => `export * as n${index} from '@gapless/${path}';`)
  .join('\n');

/** Writes each TypeScript block of a page to a file of the project. @returns the files */
function codeOf(page: string, project: string, name: string): readonly string[] {
  return [...readFileSync(page, 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ''], index) => {
    const file = `${name}-${index}.mts`;
    writeFileSync(join(project, file), code);
    return file;
  });
}

describe('the packages, packed and installed into an empty project', () => {
  let project: string;

  beforeAll(async () => {
    await run(ROOT, process.execPath, 'scripts/packages.mjs');
    project = mkdtempSync(join(tmpdir(), 'gapless-project-'));
    writeFileSync(join(project, 'package.json'), '{"private":true}');
    const packed = join(ROOT, 'dist/packages');
    const tarballs = readdirSync(packed).filter((name) => name.endsWith('.tgz'));
    expect(tarballs).toHaveLength(NAMES.length);
    const quietly = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--omit=peer'];
    await run(project, 'npm', 'install', ...quietly, ...tarballs.map((name) => join(packed, name)));
    for (const peer of PEERS) {
      const link = join(project, 'node_modules', peer);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules', peer), link);
    }
    for (const extension of ['mts', 'cts']) copyFileSync(SAMPLE, join(project, `sample.${extension}`));
    writeFileSync(join(project, 'around.d.mts'), AROUND);
    writeFileSync(join(project, 'subpaths.ts'), SUBPATHS);
  }, 480_000);

  afterAll(() => {
    rmSync(project, { recursive: true, force: true });
  });

  it('hold what is needed, and nothing of what they are made from', () => {
    for (const name of NAMES) {
      const directory = join(project, 'node_modules/@gapless', name);
      expect(readdirSync(directory).toSorted()).toEqual([
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'dist',
        'package.json',
      ]);
      const extensions = readdirSync(join(directory, 'dist')).map((file) => /\.(d\.c?ts|c?js)$/.exec(file)?.[1]);
      expect(new Set(extensions)).toEqual(new Set(name === 'cli' ? ['js'] : ['js', 'cjs', 'd.ts', 'd.cts']));
      const { repository, homepage, bugs } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
        repository: unknown;
        homepage: unknown;
        bugs: unknown;
      };
      expect(repository).toMatchObject({ type: 'git', directory: `libs/${name}` });
      expect([homepage, bugs]).toEqual([expect.any(String), { url: expect.any(String) as unknown }]);
    }
  });

  it('compile in strict mode and run, from ESM and from CommonJS', async () => {
    const strictly = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    const readmes = NAMES.flatMap((name) =>
      codeOf(join(project, 'node_modules/@gapless', name, 'README.md'), project, `readme-${name}`),
    );
    const receive = codeOf(join(ROOT, 'docs/receive.md'), project, 'receive');
    // Each package with a library has some.
    expect([readmes.length >= 6, receive.length >= 2]).toEqual([true, true]);
    const files = ['sample.mts', 'sample.cts', 'around.d.mts', ...readmes, ...receive];
    await run(project, process.execPath, compiler, ...strictly, '--experimentalDecorators', ...files);
    for (const extension of ['mjs', 'cjs']) {
      expect(JSON.parse(await run(project, process.execPath, `sample.${extension}`))).toEqual({
        verdict: true,
        types: EVENT_TYPES.length,
        read: ['1 ticket.created', '2 help_article.published'],
        answers: [204, 401, 204],
        handled: ['ticket.created'],
        isError: true,
      });
    }
  }, 480_000);

  it('have types for projects that do not know exports', async () => {
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    const old = ['--strict', '--module', 'commonjs', '--moduleResolution', 'node10', '--ignoreDeprecations', '6.0'];
    const rest = ['--target', 'es2022', '--types', 'node', '--skipLibCheck', '--esModuleInterop', '--noEmit'];
    await run(project, process.execPath, compiler, ...old, ...rest, 'subpaths.ts');
  });

  it('bring the command line', async () => {
    const gapless = join(project, 'node_modules/.bin/gapless');
    expect(await run(project, gapless, '--version')).toBe('0.1.0\n');
    expect(await run(project, gapless, 'listen', '--help')).toContain('--forward-to <address>');
  });
});
