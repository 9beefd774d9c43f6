import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stopLeftovers } from '#libs/embedded-stack';
import type { Credentials } from '#libs/local-installation';
import { ApiClient } from '../support/api-client.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { ROOT } from '../support/root.js';
import { aStageProcess, type StageProcess } from '../support/stage-process.js';

const START_MS = 120_000;

let environment: Readonly<Record<string, string>>;
let whole: StageProcess | undefined;
let servers: ChildProcess | undefined;

beforeAll(() => {
  environment = { PATH: process.env['PATH'] ?? '', DATA_DIR: mkdtempSync(join(tmpdir(), 'gapless-servers-')) };
});

afterAll(async () => {
  await whole?.stop();
  servers?.kill('SIGKILL');
  await stopLeftovers(environment['DATA_DIR']!);
  rmSync(environment['DATA_DIR']!, { recursive: true });
});

/** Runs the command line as an operator would, who names nothing but the folder. */
async function gapless(...args: readonly string[]): Promise<unknown> {
  const main = join(ROOT, 'dist/apps/cli/src/main.js');
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...args, '--json'], { env: environment });
  return JSON.parse(stdout);
}

function credentials(): Credentials {
  return JSON.parse(readFileSync(join(environment['DATA_DIR']!, 'credentials.json'), 'utf8')) as Credentials;
}

it('npm start -- servers runs Kafka and Postgres for commands that need all stages stopped', async () => {
  whole = await aStageProcess('standalone', environment);
  await whole.ready(START_MS);
  // Written last, after it is ready.
  const { api_key: key } = await eventually(credentials);
  const api = new ApiClient(whole.url, key);
  await api.emit([{ event: 'ticket.created', data: {} }]);
  await eventually(async () => {
    expect(await api.feed()).toHaveLength(1);
  });
  expect(await gapless('repair')).toMatchObject({ ok: true, running: expect.arrayContaining(['gapless-sequencer']) });
  await whole.stop();

  const child = spawn(process.execPath, ['scripts/start.mjs', 'servers'], { cwd: ROOT, env: environment });
  servers = child;
  let output = '';
  child.stdout.on('data', (text: Buffer) => (output += text.toString()));
  child.stderr.on('data', (text: Buffer) => (output += text.toString()));
  await eventually(
    () => {
      expect(output).toContain('The servers are ready.');
    },
    { timeoutMs: START_MS },
  );
  expect(await gapless('repair', '--apply')).toMatchObject({ ok: true, applied: true, running: [] });
  expect(await gapless('verify')).toMatchObject({ ok: true, log: { records: 1 } });

  child.kill('SIGINT');
  expect(await once(child, 'exit')).toEqual([0, null]);
  await expect(gapless('verify')).rejects.toThrow();
});
