import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Store } from '#libs/postgres';
import { makeCertificates, type KeyAndCertificate, type TestCertificates } from '../../support/certificates.js';
import { ApiClient } from '../../support/api-client.js';
import { anApiKey } from '../../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../../support/gapless.js';
import { anOrgId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { aStageProcess, type StageProcess } from '../../support/stage-process.js';
import { aStore } from '../../support/store.js';
import { Operator } from './support/operator.js';

const folder = mkdtempSync(join(tmpdir(), 'gapless-ca-'));

describe('client_certificate', () => {
  let made: TestCertificates;
  let server: Server;
  let url: string;
  let gapless: GaplessUnderTest;
  let store: Store;
  let service: StageProcess;
  let operator: Operator;
  /** The common name of the client of each push, with the endpoint that it was for. */
  let pushes: (readonly [path: string | undefined, client: unknown])[] = [];

  beforeAll(async () => {
    made = makeCertificates();
    writeFileSync(join(folder, 'ca.pem'), made.ca);
    server = createServer(
      { ...made.valid, ca: made.ca, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        const socket = request.socket as TLSSocket;
        const isKnown = socket.authorized;
        if (isKnown) pushes.push([request.url, socket.getPeerCertificate().subject.CN]);
        request.resume().on('end', () => response.writeHead(isKnown ? 200 : 403).end());
      },
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    gapless = await aGapless({ RETRY_SCHEDULE: '1s' });
    service = await aStageProcess(
      'standalone',
      { ...gapless.environment, NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') },
      { logLevel: 'fatal' },
    );
    await service.ready();
    store = aStore(gapless.environment['DATABASE_URL']!);
    await store.open(() => undefined);
    const orgId = anOrgId();
    operator = new Operator(orgId, new ApiClient(service.url, await anApiKey(store, orgId)));
  });

  afterAll(async () => {
    await service.stop();
    await store.close();
    await gapless.stop();
    server.close();
    server.closeAllConnections();
    rmSync(folder, { recursive: true });
  });

  const pem = ({ cert, key }: KeyAndCertificate) => ({ certificate: cert, private_key: key });

  it('is presented to its endpoint alone, and its key is shown nowhere', async () => {
    pushes = [];
    const events = ['ticket.created'];
    const first = await operator.register({ url: `${url}/first`, events, client_certificate: pem(made.wrongHost) });
    // With its chain, it is longer than what the router reads.
    const withChain = { ...pem(made.valid), certificate: made.valid.cert + made.ca };
    const second = await operator.register({ url: `${url}/second`, events, client_certificate: withChain });
    const none = await operator.register({ url: `${url}/none`, events });
    expect(first).toMatchObject({
      client_certificate: { subject: 'CN=other', expires_at: '2099-12-31T00:00:00.000Z' },
    });
    await operator.emit(...Array.from({ length: 10 }, () => ({ event: 'ticket.created', data: {} })));
    await eventually(async () => {
      for (const { id } of [first, second]) {
        const found = await operator.deliveries(id);
        expect(found.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 'delivered'));
      }
      expect((await operator.deliveries(none.id)).map(({ response_status }) => response_status)).toContain(403);
    });
    expect(new Set(pushes.map((push) => push.join(' ')))).toEqual(new Set(['/first other', '/second valid']));
    // One that is replaced holds from the next attempt on, whatever connections are open.
    await operator.change(first.id, { client_certificate: pem(made.valid) });
    pushes = [];
    await operator.test(first.id);
    await eventually(() => {
      expect(pushes).toEqual([['/first', 'valid']]);
    });
    const [delivery] = await operator.deliveries(first.id);
    const shown = JSON.stringify([
      await operator.endpoint(first.id),
      await operator.deliveryText(first.id, delivery!.id),
      (await operator.api.request('GET', '/external/audit-log')).text,
    ]);
    expect(shown).toContain('CN=valid');
    expect(shown).not.toMatch(/PRIVATE KEY|BEGIN CERTIFICATE/);
    expect(shown).not.toContain(made.valid.key.split('\n')[1]);
  });

  it('is not carried to another server, and needs https', async () => {
    const { id } = await operator.register({
      url: `${url}/moved`,
      events: ['lead.created'],
      client_certificate: pem(made.valid),
    });
    const path = `/external/webhooks/${id}`;
    const elsewhere = 'https://127.0.0.1:9999/';
    expect(await operator.refusal('PATCH', path, { url: elsewhere })).toMatchObject({ errors: [{ pointer: '#/url' }] });
    const plain = { url: 'http://127.0.0.1:9999/', client_certificate: pem(made.valid) };
    expect(await operator.refusal('PATCH', path, plain)).toMatchObject({
      status: 422,
      errors: [{ pointer: '#/client_certificate' }],
    });
    expect(await operator.refusal('POST', '/external/webhooks', { events: ['lead.created'], ...plain })).toMatchObject({
      status: 422,
      errors: [{ pointer: '#/client_certificate' }],
    });
    expect(await operator.change(id, { url: elsewhere, client_certificate: null })).toMatchObject({
      client_certificate: null,
    });
  });

  it('is refused if it is expired or has another key', async () => {
    const body = { url: `${url}/refused`, events: ['lead.created'] };
    const refusal = (client_certificate: object) =>
      operator.refusal('POST', '/external/webhooks', { ...body, client_certificate });
    expect(await refusal(pem(made.expired))).toMatchObject({
      status: 422,
      errors: [{ pointer: '#/client_certificate/certificate', detail: 'has expired' }],
    });
    const mixed = await refusal({ certificate: made.valid.cert, private_key: made.wrongHost.key });
    expect(mixed).toMatchObject({ status: 422, errors: [{ pointer: '#/client_certificate/private_key' }] });
    expect(JSON.stringify(mixed)).not.toContain('PRIVATE KEY');
  });
});
