import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Store } from '#libs/postgres';
import { topicNames } from '#libs/kafka-log';
import type { GaplessApp } from '#libs/platform';
import { ApiModule } from '../../../apps/api/src/api.module.js';
import { DispatcherModule } from '../../../apps/dispatcher/src/dispatcher.module.js';
import { ProjectorModule } from '../../../apps/projector/src/projector.module.js';
import { SequencerModule } from '../../../apps/sequencer/src/sequencer.module.js';
import { aGapless, type GaplessUnderTest } from '../../support/gapless.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { oneTo } from '../../support/sequence.js';
import { API_HTTP } from '../../support/stages.js';
import { DeliverySuite } from './support/delivery-suite.js';

/** A new owner waits longer than this for the attempts of one that has not left. */
const DELIVERY_TIMEOUT_MS = 240_000;
/** Enough for a rebalance on a busy machine, and much less than that. */
const SOON = { timeoutMs: 90_000 };

let gapless: GaplessUnderTest;
let app: GaplessApp;
let suite: DeliverySuite;

beforeAll(async () => {
  gapless = await aGapless({ DELIVERY_TIMEOUT: `${DELIVERY_TIMEOUT_MS / 1_000}s` });
  app = await gapless.start([ApiModule, SequencerModule, ProjectorModule], { http: API_HTTP });
  suite = new DeliverySuite(gapless, app);
  // As if an earlier dispatcher had stopped in order. Otherwise the first one would wait, too.
  const { topicPrefix, partitions } = app.config;
  await app.app.get(Store).query(
    `insert into paced_owners (topic, partition, owner, has_left)
     select $1, partition, $2, true from generate_series(0, $3::int - 1) as partition`,
    [topicNames(topicPrefix, app.config.retrySchedule).attemptsSlow, randomUUID(), partitions],
  );
});

afterAll(() => suite.stop());

it('ordered and paced endpoints go on soon when a dispatcher joins, and when one stops', async () => {
  const first = await gapless.start([DispatcherModule], { name: 'first' });
  const subscribers = await Promise.all([
    suite.aSubscriber({ ordering: { by: 'endpoint', batch: 10 } }),
    suite.aSubscriber({ ordering: { by: 'endpoint' } }),
    suite.aSubscriber({ max_per_second: 20 }),
    suite.aSubscriber({ max_in_flight: 1 }),
  ]);
  let emitted = 0;
  const goOn = async () => {
    emitted += 3;
    for (const { operator } of subscribers) {
      await operator.emit(...oneTo(3).map((nth) => ({ event: 'ticket.created', data: { id: `tkt_${nth}` } })));
    }
    await eventually(async () => {
      for (const { operator, endpoint } of subscribers) {
        const deliveries = await operator.deliveries(endpoint.id);
        expect(deliveries.filter(({ status }) => status === 'delivered')).toHaveLength(emitted);
      }
    }, SOON);
  };
  await goOn();
  const second = await gapless.start([DispatcherModule], { name: 'second' });
  await goOn();
  await first.stop();
  await goOn();
  await gapless.start([DispatcherModule], { name: 'third' });
  await second.stop();
  await goOn();
}, 600_000);
