import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { verifySignature } from '#libs/webhook-signature';
import { startDnsServer, type TestDnsServer } from '../../../libs/destinations/src/http/testing/dns-server.js';
import { startProxy, type TestProxy } from '../../../libs/destinations/src/http/testing/proxy.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { DeliverySuite } from './support/delivery-suite.js';
import { headerOf } from './support/pushes.js';

let dns: TestDnsServer;
let proxy: TestProxy;
let suite: DeliverySuite;

beforeAll(async () => {
  dns = await startDnsServer();
  proxy = await startProxy();
  suite = await DeliverySuite.start({
    DNS_SERVERS: dns.address,
    EGRESS_PROXY: `http://gapless:secret@127.0.0.1:${proxy.port}`,
    RETRY_SCHEDULE: '200ms',
  });
});

afterAll(async () => {
  await suite.stop();
  await proxy.close();
  await dns.close();
});

/** An endpoint whose name has a loopback address when it is registered. */
async function named(name: string) {
  dns.set(name, ['127.0.0.1']);
  const receiver = await suite.aReceiver();
  const { port } = new URL(receiver.url);
  const operator = await suite.anOperator();
  const endpoint = await operator.register({ url: `http://${name}:${port}/hook`, events: ['ticket.created'] });
  return { receiver, port, operator, endpoint };
}

/** The process stays ready, since all but the pushes goes on. */
async function expectProxyIs(status: 'ready' | 'degraded'): Promise<void> {
  const response = await fetch(`${suite.app.url}/health/ready`);
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ parts: { 'egress-proxy': { status } } });
}

describe('with EGRESS_PROXY', () => {
  it('a push leaves through the proxy, for the address that was checked', async () => {
    const { receiver, port, operator } = await named('hooks.example.com');
    await operator.emit({ event: 'ticket.created', data: {} });
    await eventually(() => {
      expect(receiver.received.map((push) => headerOf(push, 'host'))).toEqual([`hooks.example.com:${port}`]);
    });
    expect(proxy.asked).toEqual([`127.0.0.1:${port}`]);
    expect(receiver.received[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  it('the rules for addresses come first: the proxy is not asked for a refused one', async () => {
    const { receiver, operator, endpoint } = await named('rebound.example.com');
    dns.set('rebound.example.com', ['10.0.0.1']);
    const before = proxy.asked.length;
    const { id } = await operator.test(endpoint.id);
    await eventually(async () => {
      const { last_error } = await operator.delivery(endpoint.id, id);
      expect(last_error).toMatch(/^blocked_address: /);
    });
    expect(proxy.asked).toHaveLength(before);
    expect(receiver.received).toEqual([]);
  });

  it('pushes wait while the proxy is away, no attempt is counted, and health says so', async () => {
    const { receiver, operator, endpoint } = await named('waiting.example.com');
    const { port } = proxy;
    await proxy.close();
    await operator.emit({ event: 'ticket.created', data: {} });
    await eventually(() => expectProxyIs('degraded'));
    expect(await operator.endpoint(endpoint.id)).toMatchObject({ failure_count: 0 });
    proxy = await startProxy({ port });
    await eventually(() => {
      expect(receiver.received.map((push) => headerOf(push, 'x-service-attempt'))).toEqual(['1']);
    });
    await eventually(() => expectProxyIs('ready'));
  });

  it('what was changed while pushes waited holds for them', async () => {
    const [rotated, removed] = [await named('rotated.example.com'), await named('removed.example.com')];
    const { port } = proxy;
    await proxy.close();
    for (const { operator } of [rotated, removed]) await operator.emit({ event: 'ticket.created', data: {} });
    await eventually(() => expectProxyIs('degraded'));
    for (const { operator, endpoint } of [rotated, removed]) {
      await eventually(async () => {
        expect(await operator.deliveries(endpoint.id)).toMatchObject([{ status: 'pending' }]);
      });
    }
    const { secret } = await rotated.operator.rotateSecret(rotated.endpoint.id);
    await removed.operator.remove(removed.endpoint.id);
    proxy = await startProxy({ port });
    const [push] = await eventually(() => {
      expect(rotated.receiver.received).toHaveLength(1);
      return rotated.receiver.received;
    });
    const header = headerOf(push!, 'x-service-signature');
    expect(verifySignature({ body: push!.body, header, secret })).toMatchObject({ valid: true });
    // Both waited for the same moment, so the other one would have come by now.
    await delay(1_000);
    expect(removed.receiver.received).toEqual([]);
  });
});
