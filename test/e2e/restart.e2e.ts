import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Store } from '#libs/postgres';
import { ApiModule } from '../../apps/api/src/api.module.js';
import { SequencerModule } from '../../apps/sequencer/src/sequencer.module.js';
import { ApiClient, type Envelope, type Webhook } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { aReceiver, type Received, type Receiver } from '../support/receiver.js';
import { oneTo } from '../support/sequence.js';
import { aStageProcess } from '../support/stage-process.js';
import { API_HTTP } from '../support/stages.js';

/** How the receiver treats an event before the restart; after it, every one is answered 200. */
type Fate = 'delivered' | 'refused' | 'unanswered';
const FATES: readonly Fate[] = ['delivered', 'refused', 'unanswered'];

/** Far longer than an orderly stop waits for what is unanswered, so that the retries are due after the restart. */
const RETRY_AFTER_MS = 15_000;
const EVENTS = 30;
/** No push times out while the test goes on: what is unanswered is still in flight when its process ends. */
const SETTINGS = { RETRY_SCHEDULE: `${RETRY_AFTER_MS}ms,1s`, DELIVERY_TIMEOUT: '60s' };

function fateOf(push: Received): Fate {
  return ((JSON.parse(push.body.toString()) as Envelope).data as { fate: Fate }).fate;
}

/** The attempts that were received of each event, by its seq. */
function attemptsBySeq(pushes: readonly Received[]): ReadonlyMap<number, readonly Received[]> {
  const attempts = new Map<number, Received[]>();
  for (const push of pushes) {
    const seq = Number(push.headers['x-service-sequence']);
    attempts.set(seq, [...(attempts.get(seq) ?? []), push]);
  }
  return attempts;
}

function attemptNumbers(pushes: readonly Received[]): readonly number[] {
  return pushes.map(({ headers }) => Number(headers['x-service-attempt']));
}

async function emitFates(api: ApiClient): Promise<void> {
  await api.emit(oneTo(EVENTS).map((n) => ({ event: 'ticket.created', data: { fate: FATES[n % 3]! } })));
}

async function expectAllDelivered(api: ApiClient, webhook: Webhook, events: number): Promise<void> {
  await eventually(async () => {
    const { health } = (await api.webhook(webhook.id)) as Webhook & { health: Record<string, number> };
    expect(health).toMatchObject({ pending: 0, delivered_24h: events });
  });
  await eventually(async () => {
    expect((await api.feed()).map(({ seq }) => seq)).toEqual(oneTo(events));
  });
}

let receiver: Receiver;

beforeEach(async () => {
  receiver = await aReceiver();
  receiver.answer = (_request, response, push) => {
    const fate = fateOf(push);
    if (fate !== 'unanswered') response.writeHead(fate === 'delivered' ? 200 : 500).end();
  };
});

function answerAll(): void {
  receiver.answer = (_request, response) => response.writeHead(200).end();
}

describe('everything that is stopped in the middle and started again', () => {
  let gapless: GaplessUnderTest;

  beforeAll(async () => {
    gapless = await aGapless(SETTINGS);
  });

  afterAll(async () => {
    await gapless.stop();
    await receiver.close();
  });

  it('goes on where it was: pending deliveries survive, and nothing is lost or begun again (contract 4.1)', async () => {
    const before = await gapless.startAll();
    const key = await anApiKey(before.app.get(Store), anOrgId());
    let api = new ApiClient(before.url, key);
    const webhook = await api.createWebhook({ url: receiver.url, events: ['ticket.created'] });
    await emitFates(api);
    await eventually(() => {
      expect(receiver.received).toHaveLength(EVENTS);
    });
    // These are acknowledged, and perhaps no stage has seen them yet.
    await api.emit(oneTo(EVENTS).map(() => ({ event: 'ticket.created', data: { fate: 'delivered' } })));
    await before.stop();
    const stoppedAt = receiver.received.length;

    answerAll();
    const after = await gapless.startAll();
    api = new ApiClient(after.url, key);
    await expectAllDelivered(api, webhook, 2 * EVENTS);

    const attempts = attemptsBySeq(receiver.received);
    expect([...attempts.keys()].toSorted((a, b) => a - b)).toEqual(oneTo(2 * EVENTS));
    for (const [seq, pushes] of attempts) {
      const expected = { delivered: [1], refused: [1, 2], unanswered: [1, 1] }[fateOf(pushes[0]!)];
      expect({ seq, attempts: attemptNumbers(pushes) }).toEqual({ seq, attempts: expected });
      if (fateOf(pushes[0]!) === 'refused') {
        expect(pushes[1]!.atMs - pushes[0]!.atMs).toBeGreaterThanOrEqual(RETRY_AFTER_MS - 5);
      }
      for (const push of pushes) expect(push.body.equals(pushes[0]!.body)).toBe(true);
    }
    expect(receiver.received.length).toBeGreaterThan(stoppedAt);
  });
});

describe('a dispatcher and projector that are killed in the middle and started again', () => {
  let gapless: GaplessUnderTest;

  beforeAll(async () => {
    gapless = await aGapless(SETTINGS);
  });

  afterAll(async () => {
    await gapless.stop();
    await receiver.close();
  });

  it('go on where they were: nothing is lost, attempts are repeated at most', async () => {
    const app = await gapless.start([ApiModule, SequencerModule], { http: API_HTTP });
    const startStages = () =>
      Promise.all(['dispatcher', 'projector'].map((stage) => aStageProcess(stage, gapless.environment)));
    const victims = await startStages();
    await Promise.all(victims.map((stage) => stage.ready()));
    const api = new ApiClient(app.url, await anApiKey(app.app.get(Store), anOrgId()));
    const webhook = await api.createWebhook({ url: receiver.url, events: ['ticket.created'] });
    await emitFates(api);
    await eventually(() => {
      expect(receiver.received.length).toBeGreaterThan(EVENTS / 2);
    });
    for (const victim of victims) victim.signal('SIGKILL');
    await Promise.all(victims.map(({ ended }) => ended));

    answerAll();
    const stages = await startStages();
    try {
      await expectAllDelivered(api, webhook, EVENTS);
      for (const [seq, pushes] of attemptsBySeq(receiver.received)) {
        // Each attempt is made at least once, and none out of turn.
        const numbers = attemptNumbers(pushes);
        expect({ seq, numbers }).toEqual({ seq, numbers: numbers.toSorted() });
        expect(numbers[0]).toBe(1);
        for (const push of pushes) expect(push.body.equals(pushes[0]!.body)).toBe(true);
      }
      expect(attemptsBySeq(receiver.received).size).toBe(EVENTS);
    } finally {
      await Promise.all(stages.map((stage) => stage.stop()));
    }
  });
});
