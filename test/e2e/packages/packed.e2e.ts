import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EVENT_TYPES } from '#libs/consumer';

const ROOT = resolve(import.meta.dirname, '../../..');
const SAMPLE = join(import.meta.dirname, 'project/sample.mts');
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

describe('the packages, packed and installed into an empty project', () => {
  let project: string;

  beforeAll(async () => {
    await run(ROOT, process.execPath, 'scripts/packages.mjs');
    project = mkdtempSync(join(tmpdir(), 'gapless-project-'));
    writeFileSync(join(project, 'package.json'), '{"private":true}');
    const packed = join(ROOT, 'dist/packages');
    const tarballs = readdirSync(packed).filter((name) => name.endsWith('.tgz'));
    expect(tarballs).toHaveLength(2);
    const quietly = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--omit=peer'];
    await run(project, 'npm', 'install', ...quietly, ...tarballs.map((name) => join(packed, name)));
    for (const peer of PEERS) {
      const link = join(project, 'node_modules', peer);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules', peer), link);
    }
    for (const extension of ['mts', 'cts']) copyFileSync(SAMPLE, join(project, `sample.${extension}`));
  });

  afterAll(() => {
    rmSync(project, { recursive: true, force: true });
  });

  it('hold what is needed, and nothing of what they are made from', () => {
    for (const name of ['consumer', 'producer']) {
      const directory = join(project, 'node_modules/@gapless', name);
      expect(readdirSync(directory).toSorted()).toEqual([
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'dist',
        'package.json',
      ]);
      const extensions = readdirSync(join(directory, 'dist')).map((file) => /\.(d\.c?ts|c?js)$/.exec(file)?.[1]);
      expect(new Set(extensions)).toEqual(new Set(['js', 'cjs', 'd.ts', 'd.cts']));
    }
  });

  it('compile in strict mode and run, from ESM and from CommonJS', async () => {
    const strictly = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    await run(project, process.execPath, compiler, ...strictly, 'sample.mts', 'sample.cts');
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
  });
});
