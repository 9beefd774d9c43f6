import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { STAGE_NODE_OPTIONS } from '#libs/local-installation';
import { SETTINGS, STAGE_NAMES } from '#libs/runtime';
import { runProgram } from '../support/outside-clients.js';
import { readText } from './support/documents.js';

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

  it('takes every setting that is no file from a file, and the variables of OpenTelemetry', async () => {
    const file = write('secret', 'value');
    const names = [...Object.values(SETTINGS).map(({ name }) => name), 'OTEL_EXPORTER_OTLP_HEADERS'];
    const plain = names.filter((name) => !name.endsWith('_FILE'));
    // As the chart has it for a name that comes from a secret.
    const env = { KAFKA_USERNAME: '', ...Object.fromEntries(plain.map((name) => [`${name}_FILE`, file])) };
    expect(await launch([], env)).toEqual(expect.arrayContaining(plain.map((name) => `${name}=value`)));
  });

  it('leaves other files alone', async () => {
    const files = { KAFKA_CA_FILE: '/absent', POSTGRES_CA_FILE: '/absent', SSL_CERT_FILE: '/absent' };
    const launched = await launch([], { ...files, TEXT: 'two lines\nOTEL_X_FILE=/absent' });
    expect(launched).toEqual(expect.arrayContaining(Object.entries(files).map((entry) => entry.join('='))));
    expect(launched.filter((line) => /^(KAFKA_CA|POSTGRES_CA|SSL_CERT|OTEL_X)=/.test(line))).toEqual([]);
  });
});
