import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { STAGE_NODE_OPTIONS } from '#libs/local-installation';
import { STAGE_NAMES } from '#libs/runtime';
import { runProgram } from '../support/outside-clients.js';
import { readText } from './support/documents.js';
import { SECRETS } from './support/environment-problems.js';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gapless-image-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

function write(path: string, text: string): string {
  const file = join(directory, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
}

/** Runs the image's launcher, with these apps in the image. @returns the arguments and variables that Node gets */
async function launch(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const launcher = write('gapless', readText('docker/image/gapless').replaceAll('/app/', `${directory}/`));
  write('bin/node', '#!/bin/sh\nprintf "%s\\n" "$@"\nenv\n');
  for (const app of ['cli', 'reference-consumer', ...STAGE_NAMES]) write(`dist/apps/${app}/src/main.js`, '');
  const path = `${join(directory, 'bin')}:${process.env['PATH'] ?? ''}`;
  return (await runProgram(launcher, args, { env: { ...env, PATH: path } })).toString().split('\n');
}

describe('the launcher of the image', () => {
  it.each([
    ...STAGE_NAMES.map((stage) => [stage, stage, []] as const),
    ['receiver', 'reference-consumer', []] as const,
    ['migrate', 'cli', ['migrate']] as const,
  ])('runs %s as the app %s, with the options of a stage', async (name, app, kept) => {
    const main = join(directory, `dist/apps/${app}/src/main.js`);
    const expected = [...STAGE_NODE_OPTIONS, main, ...kept, '--flag', 'two words'];
    const launched = await launch([name, '--flag', 'two words']);
    expect(launched.slice(0, expected.length)).toEqual(expected);
  });

  it('runs the command line when it gets no argument', async () => {
    expect(await launch([])).toContain(join(directory, 'dist/apps/cli/src/main.js'));
  });

  it('takes every secret from a file', async () => {
    const file = write('secret', 'value');
    const launched = await launch([], Object.fromEntries(SECRETS.map((name) => [`${name}_FILE`, file])));
    expect(launched).toEqual(expect.arrayContaining(SECRETS.map((name) => `${name}=value`)));
  });

  it('has a file of each secret in the documentation', () => {
    const page = readText('docs/containers.md');
    expect(SECRETS.filter((name) => !page.includes(`\`${name}_FILE\``))).toEqual([]);
  });
});
