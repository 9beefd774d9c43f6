import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aGapless } from '../../support/gapless.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { oneTo } from '../../support/sequence.js';
import { aTcpProxy, type TcpProxy } from '../../support/tcp-proxy.js';
import { asTheEventSays } from './support/answers.js';
import { DeliverySuite } from './support/delivery-suite.js';
import { attemptOf, deliveryIdOf } from './support/pushes.js';

const EVENTS = 240;
/** How the n-th event is answered, by the rest of n by three. */
const FATES = [
  { answers: [200], attempts: 1, status: 'delivered' },
  { answers: [500, 503, 200], attempts: 3, status: 'delivered' },
  { answers: [500], attempts: 4, status: 'failed' },
] as const;
const TIER_MS = 400;

let suite: DeliverySuite;
let postgres: TcpProxy;

beforeAll(async () => {
  const gapless = await aGapless({
    RETRY_SCHEDULE: oneTo(3)
      .map(() => `${TIER_MS}ms`)
      .join(','),
    AUTO_DISABLE_AFTER: '100000',
    // The receiver shares this thread, so its answers may be late.
    DELIVERY_TIMEOUT: '60s',
    // It cuts the way to one database. Several have a test of their own.
    PROJECTION_DATABASE_URLS: '',
  });
  postgres = await aTcpProxy(gapless.environment['DATABASE_URL']!);
  await postgres.open();
  suite = new DeliverySuite(gapless, await gapless.startAll({ DATABASE_URL: postgres.url }));
});

afterAll(async () => {
  await suite.stop();
  await postgres.close();
});

describe('deliveries whose Postgres goes away in the middle of the pushes', () => {
  it('all end as they would have, with each of their attempts once: nothing is lost', async () => {
    const operator = await suite.anOperator();
    const answer = asTheEventSays();
    const receiver = await suite.aReceiver((...push) => {
      setTimeout(answer, 50, ...push);
    });
    const endpoint = await operator.register({ url: receiver.url, events: ['ticket.created'] });
    await operator.emit(...oneTo(EVENTS).map((n) => ({ event: 'ticket.created', data: FATES[n % 3]! })));
    for (const pushes of [EVENTS / 4, EVENTS]) {
      await eventually(() => {
        expect(receiver.received.length).toBeGreaterThan(pushes);
      });
      await postgres.close();
      expect((await operator.refusal('GET', '/external/webhooks')).status).toBeGreaterThanOrEqual(500);
      // What was in flight ends, and retries come due, while Postgres is not there.
      await pause(2 * TIER_MS);
      await postgres.open();
    }
    const deliveries = await eventually(async () => {
      const found = await operator.deliveries(endpoint.id);
      expect(found).toHaveLength(EVENTS);
      expect(found.filter(({ status }) => status === 'pending')).toEqual([]);
      return found;
    });
    const attemptsOf = (id: string) => receiver.received.filter((push) => deliveryIdOf(push) === id).map(attemptOf);
    for (const { id, seq, status, attempts } of deliveries) {
      const fate = FATES[seq % 3]!;
      expect({ seq, status, attempts, pushed: attemptsOf(id) }).toEqual({
        seq,
        status: fate.status,
        attempts: fate.attempts,
        pushed: oneTo(fate.attempts),
      });
    }
    expect((await operator.endpoint(endpoint.id)).health).toMatchObject({
      pending: 0,
      delivered_24h: (2 * EVENTS) / 3,
      failed_attempts_24h: (6 * EVENTS) / 3,
    });
    // The feed is projected beside the delivery log.
    await eventually(async () => {
      expect((await operator.api.feed()).map(({ seq }) => seq)).toEqual(oneTo(EVENTS));
    });
  });
});
