import { spawn, spawnSync } from 'node:child_process';
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
const ORDERING = { by: 'endpoint', batch: 1 } as const;
const URL_OF_MINE = "https://shop.example.com/it's/hook?tenant=7";
const PATH = "/it's/hook?tenant=7";
const BODY = '{"id":"evt_1","seq":4128,"event":"ticket.created","data":{"a":1.0}}';

/** Writes the receiver to a file. */
function aReceiver(batch = 1) {
  const directory = mkdtempSync(join(tmpdir(), 'gapless-sample-'));
  const file = join(directory, 'receiver.mjs');
  writeFileSync(file, receiverSample('node', { url: URL_OF_MINE, ordering: { by: 'endpoint', batch } }));
  return { directory, file };
}

/** Starts the receiver, which prints what it gets. */
async function startReceiver(batch: number) {
  const { directory, file } = aReceiver(batch);
  const port = await freePort();
  const env = { ...process.env, GAPLESS_SECRET: SECRET, PORT: String(port) };
  const running = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  let printed = '';
  running.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString();
  });
  await eventually(() => fetch(`http://127.0.0.1:${port}/`));
  return {
    port,
    printed: () => printed,
    async stop() {
      running.kill();
      await once(running, 'exit');
      rmSync(directory, { recursive: true });
    },
  };
}

interface Push {
  readonly port: number;
  readonly header?: string;
  /** The text that the signature is of. */
  readonly signed?: string;
  readonly body?: string;
  readonly path?: string;
  readonly secret?: string;
  readonly ageSeconds?: number;
}

async function push({ port, signed = BODY, body = signed, ...changes }: Push): Promise<number> {
  const at = Math.floor(Date.now() / 1_000) - (changes.ageSeconds ?? 0);
  const signature = createHmac('sha256', changes.secret ?? SECRET)
    .update(`${at}.${signed}`)
    .digest('hex');
  const { status } = await fetch(`http://127.0.0.1:${port}${changes.path ?? PATH}`, {
    method: 'POST',
    headers: { 'x-service-signature': changes.header ?? `t=${at},v1=${signature}` },
    body,
  });
  return status;
}

describe('the sample for Node.js', () => {
  let receiver: Awaited<ReturnType<typeof startReceiver>>;
  let port: number;

  beforeAll(async () => {
    receiver = await startReceiver(1);
    ({ port } = receiver);
  });

  afterAll(async () => {
    await receiver.stop();
  });

  it('takes what is genuine', async () => {
    expect(await push({ port })).toBe(204);
    expect(await push({ port, ageSeconds: 290 })).toBe(204);
    await eventually(() => {
      expect(receiver.printed()).toBe('4128 ticket.created evt_1\n'.repeat(2));
    });
  });

  it('takes what one of two secrets has signed, as during a rotation', async () => {
    const at = Math.floor(Date.now() / 1_000);
    const [mine = '', other = ''] = [SECRET, 'whsec_other'].map((secret) =>
      createHmac('sha256', secret).update(`${at}.${BODY}`).digest('hex'),
    );
    expect(await push({ port, header: `t=${at},v1=${mine},v1=${other}` })).toBe(204);
    expect(await push({ port, header: `t=${at},v1=${other},v1=${mine}` })).toBe(204);
    expect(await push({ port, header: `t=${at},v1=${other},v1=${other}` })).toBe(401);
  });

  it.each([
    ['another secret', { secret: 'whsec_other' }],
    ['a changed body', { body: BODY.replace('1.0', '1') }],
    ['an old signature', { ageSeconds: 310 }],
    ['no well-formed header', { header: 'v1=abc' }],
  ])('refuses %s with 401', async (_, changes) => {
    expect(await push({ port, ...changes })).toBe(401);
  });

  it('refuses a body of more than 1 MiB', async () => {
    const padded = (bytes: number) => BODY.replace('1.0', `"${'x'.repeat(bytes - BODY.length + 1)}"`);
    expect(await push({ port, signed: padded(1024 * 1024) })).toBe(204);
    const status = push({ port, signed: padded(1024 * 1024 + 1) });
    // The connection may be gone before all of the body is sent.
    expect(await status.catch(() => 413)).toBe(413);
    expect(await push({ port })).toBe(204);
  });

  it.each([
    ['no secret', undefined],
    ['an empty secret', ''],
  ])('does not start with %s', async (_, secret) => {
    const { directory, file } = aReceiver();
    const env = { ...process.env, GAPLESS_SECRET: secret, PORT: String(await freePort()) };
    const { status, stderr } = spawnSync(process.execPath, [file], { env, encoding: 'utf8', timeout: 10_000 });
    rmSync(directory, { recursive: true });
    expect([status, stderr]).toEqual([1, 'Set GAPLESS_SECRET to the secret of the endpoint.\n']);
  });

  it('answers at the path of the endpoint alone', async () => {
    expect(await push({ port, path: '/' })).toBe(404);
  });

  it('takes each event of a list when the endpoint gets lists', async () => {
    const ofLists = await startReceiver(20);
    const other = BODY.replace('4128', '4129').replace('evt_1', 'evt_2');
    expect(await push({ port: ofLists.port, signed: `{"events":[${BODY},${other}]}` })).toBe(204);
    await eventually(() => {
      expect(ofLists.printed()).toBe('4128 ticket.created evt_1\n4129 ticket.created evt_2\n');
    });
    await ofLists.stop();
  });
});

describe('the samples', () => {
  it.each([
    ['python', 'if not SECRET:\n    sys.exit(', 'if not 0 <= length <= MAX_BYTES:'],
    [
      'go',
      'if len(secret) == 0 {\n\t\tlog.Fatal(',
      'io.ReadAll(http.MaxBytesReader(response, request.Body, maxBytes))',
    ],
    ['php', "if ($secret === false || $secret === '') {", "file_get_contents('php://input', length: MAX_BYTES + 1)"],
  ] as const)('for %s refuse an empty secret and read at most 1 MiB', (language, refusal, limit) => {
    const sample = receiverSample(language, { url: URL_OF_MINE, ordering: ORDERING });
    expect(sample).toContain(refusal);
    expect(sample).toContain(limit);
  });

  it.each(LANGUAGES)('for %s say which endpoint they are for', (language) => {
    expect(receiverSample(language, { url: URL_OF_MINE, ordering: ORDERING })).toContain(URL_OF_MINE);
  });

  it('for PHP hold no end of PHP in what comes from a url', () => {
    expect(receiverSample('php', { url: 'https://example.com/a?>b', ordering: ORDERING })).not.toContain('?>');
  });
});
