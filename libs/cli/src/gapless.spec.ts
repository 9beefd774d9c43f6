import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from '@jest/globals';
import { anEnvelope, aPage, TestServer } from './testing/a-service.js';

const MAIN = resolve(import.meta.dirname, '../../../dist/libs/cli/src/gapless.js');

it('goes on when nobody reads what it reports', async () => {
  const service = await TestServer.start();
  service.answer = () => (service.requests.length === 1 ? { status: 503 } : aPage([anEnvelope(1)]));
  const cli = spawn(process.execPath, [MAIN, 'events', 'tail', '--from', '0', '--no-follow'], {
    env: { ...process.env, GAPLESS_URL: service.url, GAPLESS_API_KEY: 'gk_1_secret' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  cli.stderr.destroy();
  const [printed] = await Promise.all([text(cli.stdout), once(cli, 'close')]);
  service.stop();
  expect([printed, cli.exitCode]).toEqual([expect.stringContaining('#1'), 0]);
});
