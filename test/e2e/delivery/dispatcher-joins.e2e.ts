import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Store } from '#libs/postgres';
import { ApiModule } from '../../../apps/api/src/api.module.js';
import { DispatcherModule } from '../../../apps/dispatcher/src/dispatcher.module.js';
import { ProjectorModule } from '../../../apps/projector/src/projector.module.js';
import { SequencerModule } from '../../../apps/sequencer/src/sequencer.module.js';
import { ApiClient } from '../../support/api-client.js';
import { anApiKey } from '../../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../../support/gapless.js';
import { anOrgId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { aReceiver, type Receiver } from '../../support/receiver.js';
import { oneTo } from '../../support/sequence.js';
import { API_HTTP } from '../../support/stages.js';

const ENDPOINTS = 4;
const EVENTS = 500;
const DELIVERIES = ENDPOINTS * EVENTS;
/** How much is delivered when the second dispatcher joins. */
const BEFORE = 500;
const ANSWERED_AFTER_MS = 20;
/** To one endpoint at a time. An attempt is in flight until Kafka has its outcome, so the receiver does not see all of them. */
const IN_FLIGHT = 64;

let gapless: GaplessUnderTest;
let receiver: Receiver;

beforeAll(async () => {
  // Whatever the machine is busy with, no attempt fails.
  gapless = await aGapless({ DELIVERY_TIMEOUT: '60s', AUTO_DISABLE_AFTER: '1000' });
  receiver = await aReceiver((_request, response) => {
    setTimeout(() => response.end('ok'), ANSWERED_AFTER_MS);
  });
});

afterAll(async () => {
  await gapless.stop();
  await receiver.close();
});

/** How often each attempt was pushed. */
function pushes(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { headers, path } of receiver.received) {
    const attempt = `${path} ${String(headers['x-service-sequence'])} ${String(headers['x-service-attempt'])}`;
    counts.set(attempt, (counts.get(attempt) ?? 0) + 1);
  }
  return counts;
}

describe('a dispatcher that joins another one with much to do', () => {
  it('pushes at most what is in flight once more', async () => {
    const app = await gapless.start([ApiModule, SequencerModule, ProjectorModule], { http: API_HTTP });
    const orgId = anOrgId();
    const api = new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId));
    for (const endpoint of oneTo(ENDPOINTS)) {
      await api.createWebhook({ url: `${receiver.url}/${endpoint}`, events: ['ticket.created'] });
    }
    for (const chunk of oneTo(EVENTS / 250)) {
      await api.emit(oneTo(250).map((n) => ({ event: 'ticket.created', data: { n: n + 250 * chunk } })));
    }
    const feed = await app.app.get(Store).feed.of(orgId);
    await eventually(async () => {
      expect(await feed.query('SELECT count(*)::int AS events FROM events')).toEqual([{ events: EVENTS }]);
    });

    await gapless.start([DispatcherModule], { name: 'first' });
    await eventually(
      () => {
        expect(receiver.received.length).toBeGreaterThan(BEFORE);
      },
      { intervalMs: 2 },
    );
    await gapless.start([DispatcherModule], { name: 'second' });
    await eventually(
      () => {
        expect(pushes().size).toBe(DELIVERIES);
      },
      { timeoutMs: 180_000, intervalMs: 500 },
    );
    const twice = [...pushes().values()].filter((count) => count > 1).length;
    expect(twice).toBeLessThanOrEqual(ENDPOINTS * IN_FLIGHT);
  });
});
