import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import { ApiModule } from '../../apps/api/src/api.module.js';
import { ProjectorModule } from '../../apps/projector/src/projector.module.js';
import { SequencerModule } from '../../apps/sequencer/src/sequencer.module.js';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anEventId, anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { readLog } from '../support/log-reader.js';
import { aPrivateKafka, type PrivateKafka } from '../support/private-kafka.js';
import { oneTo } from '../support/sequence.js';
import { API_HTTP } from '../support/stages.js';

/** Longer than a request to the broker waits. */
const STALL_MS = 3_500;

let kafka: PrivateKafka;
let gapless: GaplessUnderTest;
let api: ApiClient;
let orgId: OrgId;

beforeAll(async () => {
  kafka = await aPrivateKafka();
  gapless = await aGapless({ KAFKA_BROKERS: kafka.brokers, RATE_LIMIT: '100000/s' });
  const app = await gapless.start([ApiModule, SequencerModule, ProjectorModule], { http: API_HTTP });
  orgId = anOrgId();
  api = new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId));
});

afterAll(async () => {
  await gapless.stop();
  await kafka.remove();
});

it('an event that was sent once has one seq, however often the broker stalls meanwhile', async () => {
  const acknowledged: string[] = [];
  let isOver = false;
  const writers = oneTo(4).map(async () => {
    while (!isOver) {
      const ids = oneTo(450).map(() => anEventId());
      const body = JSON.stringify({ events: ids.map((id) => ({ id, event: 'ticket.created', data: {} })) });
      // An event that is refused may be there nevertheless; nobody sends it again.
      const { status } = await api.request('POST', '/internal/events', body);
      if (status === 202) acknowledged.push(...ids);
      else expect(status).toBe(503);
    }
  });
  const haveMore = async () => {
    const before = acknowledged.length;
    await eventually(() => {
      expect(acknowledged.length).toBeGreaterThan(before);
    });
  };
  await haveMore();
  for (const pauseMs of [500, 40, 110]) {
    await delay(pauseMs);
    await kafka.stall(STALL_MS);
  }
  await haveMore();
  isOver = true;
  await Promise.all(writers);
  const [last] = await eventually(() => api.emit([{ event: 'ticket.reopened', data: {} }]));
  await eventually(async () => {
    expect(await api.feedText('event=ticket.reopened&limit=1')).toContain(last);
  });
  const log = (await readLog(kafka.brokers, gapless.environment['TOPIC_PREFIX']!)).get(orgId) ?? [];
  expect(log.map(({ seq }) => seq)).toEqual(oneTo(log.length));
  const ids = log.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const inLog = new Set(ids);
  expect(acknowledged.filter((id) => !inLog.has(id))).toEqual([]);
});
