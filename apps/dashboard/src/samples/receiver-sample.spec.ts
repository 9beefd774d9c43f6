import { spawn, type ChildProcess } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../../../test/support/free-port.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { LANGUAGES } from './languages.js';
import { receiverSample } from './receiver-sample.js';

const SECRET = 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=';
const URL_OF_MINE = "https://shop.example.com/it's/hook?tenant=7";
const PATH = "/it's/hook?tenant=7";
const BODY = '{"id":"evt_1","seq":4128,"event":"ticket.created","data":{"a":1.0}}';

describe('the sample for Node.js', () => {
  let directory: string;
  let receiver: ChildProcess;
  let port: number;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'gapless-sample-'));
    const file = join(directory, 'receiver.mjs');
    writeFileSync(file, receiverSample('node', URL_OF_MINE));
    port = await freePort();
    const env = { ...process.env, GAPLESS_SECRET: SECRET, PORT: String(port) };
    receiver = spawn(process.execPath, [file], { env, stdio: 'ignore' });
    await eventually(() => fetch(`http://127.0.0.1:${port}/`));
  });

  afterAll(async () => {
    receiver.kill();
    await once(receiver, 'exit');
    rmSync(directory, { recursive: true });
  });

  async function push(changes: {
    header?: string;
    body?: string;
    path?: string;
    secret?: string;
    ageSeconds?: number;
  }) {
    const at = Math.floor(Date.now() / 1_000) - (changes.ageSeconds ?? 0);
    const signature = createHmac('sha256', changes.secret ?? SECRET)
      .update(`${at}.${BODY}`)
      .digest('hex');
    const { status } = await fetch(`http://127.0.0.1:${port}${changes.path ?? PATH}`, {
      method: 'POST',
      headers: { 'x-service-signature': changes.header ?? `t=${at},v1=${signature}` },
      body: changes.body ?? BODY,
    });
    return status;
  }

  it('takes what is genuine', async () => {
    expect(await push({})).toBe(204);
    expect(await push({ ageSeconds: 290 })).toBe(204);
  });

  it('takes what one of two secrets has signed, as during a rotation', async () => {
    const at = Math.floor(Date.now() / 1_000);
    const [mine = '', other = ''] = [SECRET, 'whsec_other'].map((secret) =>
      createHmac('sha256', secret).update(`${at}.${BODY}`).digest('hex'),
    );
    expect(await push({ header: `t=${at},v1=${mine},v1=${other}` })).toBe(204);
    expect(await push({ header: `t=${at},v1=${other},v1=${mine}` })).toBe(204);
    expect(await push({ header: `t=${at},v1=${other},v1=${other}` })).toBe(401);
  });

  it.each([
    ['another secret', { secret: 'whsec_other' }],
    ['a changed body', { body: BODY.replace('1.0', '1') }],
    ['an old signature', { ageSeconds: 310 }],
    ['no well-formed header', { header: 'v1=abc' }],
  ])('refuses %s with 401', async (_, changes) => {
    expect(await push(changes)).toBe(401);
  });

  it('answers at the path of the endpoint alone', async () => {
    expect(await push({ path: '/' })).toBe(404);
  });
});

describe('the samples', () => {
  it.each(LANGUAGES)('for %s say which endpoint they are for', (language) => {
    expect(receiverSample(language, URL_OF_MINE)).toContain(URL_OF_MINE);
  });

  it('for PHP hold no end of PHP in what comes from a url', () => {
    expect(receiverSample('php', 'https://example.com/a?>b')).not.toContain('?>');
  });
});
