import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { systemClock } from '#libs/domain';
import { parseNetworks } from '#libs/runtime';
import { anEndpointId } from '../../../../../test/support/due-attempts.js';
import { freePort } from '../../../../../test/support/free-port.js';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { createResolver } from '../resolver.js';
import {
  makeCertificates,
  type KeyAndCertificate,
  type TestCertificates,
} from '../../../../../test/support/certificates.js';
import { startProxy } from '../testing/proxy.js';
import { startReceiver, type TestReceiver } from '../testing/receiver.js';
import type { ClientIdentity } from '../push/push-attempt.js';
import { createPushClient, type PushClient, type PushClientOptions } from '../push/push-client.js';

let made: TestCertificates;
let server: TestReceiver;
/** The common name of the client of each request. */
let clients: (string | undefined)[] = [];
let cleanUps: (() => Promise<void>)[] = [];

beforeAll(async () => {
  made = makeCertificates();
  server = await startReceiver(
    (socket) => {
      const { subject } = (socket as TLSSocket).getPeerCertificate();
      clients.push(([] as (string | undefined)[]).concat(subject.CN)[0]);
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    },
    { tls: { ...made.valid, ca: made.ca, requestCert: true, rejectUnauthorized: true } },
  );
});

afterAll(() => server.close());

afterEach(async () => {
  clients = [];
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  cleanUps = [];
});

function aClient(options: Partial<PushClientOptions> = {}): PushClient {
  const client = createPushClient({
    resolver: createResolver({ timeoutMs: 1_000 }),
    allowedNetworks: parseNetworks('127.0.0.0/8'),
    allowHttp: true,
    clock: systemClock,
    ca: made.ca,
    ...options,
  });
  cleanUps.push(() => client.close());
  return client;
}

function push(
  client: PushClient,
  of?: KeyAndCertificate,
  { endpointId = anEndpointId(1), url = `https://127.0.0.1:${server.port}/hook` } = {},
) {
  const identity: ClientIdentity | undefined = of && { endpointId, certificate: of.cert, private_key: of.key };
  return client.post({
    url,
    headers: () => ({}),
    body: Buffer.from('{}'),
    timeoutMs: 30_000,
    identity,
  });
}

/** Starts the server of the `openssl` program, which does what Node's cannot. */
async function anOpenSslServer(...options: readonly string[]) {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'gapless-s-server-'));
  const files = { cert: made.valid.cert, key: made.valid.key, CAfile: made.ca };
  const given = Object.entries(files).flatMap(([name, text]) => {
    writeFileSync(join(folder, name), text);
    return [`-${name}`, join(folder, name)];
  });
  const server = spawn('openssl', ['s_server', '-accept', String(port), ...given, ...options]);
  cleanUps.push(() => {
    server.kill();
    rmSync(folder, { recursive: true });
    return Promise.resolve();
  });
  let printed = '';
  server.stdout.on('data', (chunk) => (printed += String(chunk)));
  const hasPrinted = (text: string) =>
    eventually(() => {
      expect(printed).toContain(text);
    });
  await hasPrinted('ACCEPT');
  return { url: `https://127.0.0.1:${port}/`, stdin: server.stdin, hasPrinted };
}

describe('a push with a client certificate', () => {
  it('presents it to a receiver that requires one', async () => {
    expect(await push(aClient(), made.wrongHost)).toMatchObject({ kind: 'answered', status: 200 });
    expect(clients).toEqual(['other']);
  });

  it('presents it through the egress proxy, and not to that', async () => {
    const proxy = await startProxy();
    cleanUps.push(() => proxy.close());
    const client = aClient({ egressProxy: { url: `http://127.0.0.1:${proxy.port}` } });
    expect(await push(client, made.wrongHost)).toMatchObject({ kind: 'answered' });
    expect([proxy.asked.length, clients]).toEqual([1, ['other']]);
  });

  it('shares its connection with no other endpoint, no other certificate, and no push without one', async () => {
    const client = aClient();
    const before = server.connections();
    await push(client, made.valid);
    await push(client, made.valid);
    expect(server.connections()).toBe(before + 1);
    await push(client, made.valid, { endpointId: anEndpointId(2) });
    expect(server.connections()).toBe(before + 2);
    await push(client, made.wrongHost);
    expect(server.connections()).toBe(before + 3);
    expect(clients).toEqual(['valid', 'valid', 'valid', 'other']);
    expect(await push(client)).toMatchObject({ kind: 'failed' });
    expect(clients).toHaveLength(4);
  });

  it('fails without a connection once the certificate has expired', async () => {
    const before = server.connections();
    expect(await push(aClient(), made.expired)).toMatchObject({
      kind: 'failed',
      error: 'tls',
      detail: 'the client certificate has expired',
    });
    expect(server.connections()).toBe(before);
  });

  it('says what a server refuses that sends an alert after the handshake, as by TLS 1.3', async () => {
    const { url } = await anOpenSslServer('-Verify', '2', '-verify_return_error', '-tls1_3', '-www');
    const client = aClient();
    expect(await push(client, undefined, { url })).toMatchObject({
      kind: 'failed',
      error: 'tls',
      detail: 'the receiver requires a client certificate',
    });
    expect(await push(client, made.selfSigned, { url })).toMatchObject({
      kind: 'failed',
      error: 'tls',
      detail: 'the receiver does not know the authority of the client certificate',
    });
  });

  it('chooses no finite-field group, as one without does not', async () => {
    const dhe = { maxVersion: 'TLSv1.2', ciphers: 'DHE-RSA-AES128-GCM-SHA256', dhparam: 'auto' } as const;
    const choosing = await startReceiver((socket) => socket.destroy(), { tls: { ...made.rsa, ...dhe } });
    cleanUps.push(() => choosing.close());
    const url = `https://127.0.0.1:${choosing.port}/`;
    expect(await push(aClient({ ca: made.rsa.cert }), made.valid, { url })).toMatchObject({
      kind: 'failed',
      error: 'tls',
      detail: 'the receiver refused the TLS handshake',
    });
  });

  it('begins no handshake again, nor does one without, whatever the receiver asks for', async () => {
    const { url, stdin, hasPrinted } = await anOpenSslServer('-tls1_2');
    for (const [path, certificate] of [['none'], ['one', made.valid]] as const) {
      const pushed = push(aClient(), certificate, { url: url + path });
      await hasPrinted(`POST /${path} `);
      stdin.write('r\n');
      // Otherwise it would wait for an answer until its time is over.
      expect(await pushed).toMatchObject({
        kind: 'failed',
        error: 'tls',
        detail: 'the receiver refused the TLS handshake',
      });
    }
  });

  it('still checks the certificate of the receiver', async () => {
    expect(await push(aClient({ ca: made.selfSigned.cert }), made.valid)).toMatchObject({
      kind: 'failed',
      error: 'tls',
    });
    expect(clients).toEqual([]);
  });
});
