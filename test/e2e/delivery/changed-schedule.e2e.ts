import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Store } from '#libs/postgres';
import type { GaplessApp } from '#libs/platform';
import { ApiClient } from '../../support/api-client.js';
import { anApiKey } from '../../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../../support/gapless.js';
import { anOrgId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { aReceiver, type Receiver } from '../../support/receiver.js';
import { asTheEventSays } from './support/answers.js';
import { Operator, type WholeDelivery } from './support/operator.js';

/** A tier that is still waited in when the next schedule is in force. */
const LONG_TIER_MS = 80_000;
/** How late an attempt may start on a machine that is busy with other things. What waits for the long tier is later. */
const START_WITHIN_MS = 60_000;
/** An attempt is made by then, whichever tier it waits in. */
const MADE_WITHIN_MS = LONG_TIER_MS + START_WITHIN_MS + 10_000;

const orgId = anOrgId();
let gapless: GaplessUnderTest;
let app: GaplessApp;
let readyAtMs: number;
let receiver: Receiver;
let operator: Operator;
let endpointId: string;

async function restartWith(schedule: string): Promise<void> {
  await app.stop();
  app = await gapless.startAll({ RETRY_SCHEDULE: schedule });
  readyAtMs = Date.now();
  operator = new Operator(orgId, new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId)));
}

beforeAll(async () => {
  gapless = await aGapless({ AUTO_DISABLE_AFTER: '1000' });
  app = await gapless.startAll({ RETRY_SCHEDULE: '100ms,8s' });
  operator = new Operator(orgId, new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId)));
  receiver = await aReceiver(asTheEventSays());
  ({ id: endpointId } = await operator.register({ url: receiver.url, events: ['ticket.created'] }));
});

afterAll(async () => {
  await receiver.close();
  await gapless.stop();
});

/** Emits an event whose delivery is answered like this. @returns the delivery once so many attempts are made */
async function aDeliveryAnswered(answers: readonly number[], attempts: number): Promise<WholeDelivery> {
  const [eventId] = await operator.emit({ event: 'ticket.created', data: { answers } });
  const id = await eventually(async () => {
    const found = (await operator.deliveries(endpointId)).find(({ event_id }) => event_id === eventId);
    return found?.id ?? Promise.reject(new Error('the event has no delivery yet'));
  });
  return whenMade(id, attempts);
}

function whenMade(id: string, attempts: number): Promise<WholeDelivery> {
  return eventually(
    async () => {
      const delivery = await operator.delivery(endpointId, id);
      expect(delivery.attempts).toBe(attempts);
      return delivery;
    },
    { timeoutMs: MADE_WITHIN_MS },
  );
}

/** Shows that the attempt after those of `before` was made when it was due, or as soon as there was someone to make it. */
function expectInTime(before: WholeDelivery, after: WholeDelivery): void {
  const dueAtMs = Date.parse(before.next_attempt_at!);
  const madeAtMs = Date.parse(after.attempts_log[before.attempts]!.at);
  expect(madeAtMs).toBeGreaterThanOrEqual(dueAtMs);
  expect(madeAtMs).toBeLessThan(Math.max(dueAtMs, readyAtMs) + START_WITHIN_MS);
}

describe('while retries wait, a changed RETRY_SCHEDULE', () => {
  it('loses none of them, makes each when it was due, and delays no other', async () => {
    // Waits in a second tier, which the next schedule does not have.
    const removed = await aDeliveryAnswered([500, 500, 200], 2);
    // The first tier becomes longer than its topic of old would keep records for.
    await restartWith(`${LONG_TIER_MS}ms`);
    const waiting = await aDeliveryAnswered([500, 200], 1);
    const last = await aDeliveryAnswered([500, 500], 1);
    expectInTime(removed, await whenMade(removed.id, 3));
    // It becomes shorter: retries that wait there for longer do not block later ones.
    await restartWith('100ms,200ms,300ms');
    const quick = await aDeliveryAnswered([500, 500, 500, 200], 4);
    expect(quick.status).toBe('delivered');
    expect(quick.attempts_log).toHaveLength(4);
    const made = await whenMade(waiting.id, 2);
    expect(Date.parse(quick.attempts_log[3]!.at)).toBeLessThan(Date.parse(made.attempts_log[1]!.at));
    expectInTime(waiting, made);
    expect(made.status).toBe('delivered');
    // Goes on by the schedule of now: its second attempt is followed by what comes after a second attempt.
    expect(await whenMade(last.id, 4)).toMatchObject({ status: 'failed', next_attempt_at: null });
  }, 600_000);

  it('ends a delivery that has had more attempts than it allows with its next one', async () => {
    await restartWith('100ms,200ms,10s');
    const third = await aDeliveryAnswered([500], 3);
    await restartWith('100ms');
    const ended = await whenMade(third.id, 4);
    expectInTime(third, ended);
    expect(ended).toMatchObject({ status: 'failed', last_error: 'http_status: 500', next_attempt_at: null });
  });
});
