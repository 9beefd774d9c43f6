import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import type { GaplessApp } from '#libs/platform';
import { ApiModule } from '../../apps/api/src/api.module.js';
import { DispatcherModule } from '../../apps/dispatcher/src/dispatcher.module.js';
import { ProjectorModule } from '../../apps/projector/src/projector.module.js';
import { SequencerModule } from '../../apps/sequencer/src/sequencer.module.js';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { readTopic } from '../support/log-reader.js';
import { aReceiver } from '../support/receiver.js';
import { API_HTTP } from '../support/stages.js';

/** Just under what an event may have. */
const SUBJECT = 'x'.repeat(255 * 1024);
const HOOK = { url: 'http://127.0.0.1:4009/hook', events: ['ticket.created'] };

let gapless: GaplessUnderTest;
let app: GaplessApp;
let orgId: OrgId;
let api: ApiClient;

beforeEach(async () => {
  gapless = await aGapless();
  app = await gapless.start([ApiModule, SequencerModule, ProjectorModule], { http: API_HTTP });
  orgId = anOrgId();
  api = new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId));
});

afterEach(async () => {
  await gapless.stop();
});

async function emitLarge(events: number): Promise<void> {
  const event = { event: 'ticket.created', data: { subject: SUBJECT } };
  for (let left = events; left > 0; left -= 4) await api.emit([event, event, event, event]);
}

/** How many attempts were scheduled, and how many deliveries they are of. */
async function scheduled(): Promise<{ readonly attempts: number; readonly deliveries: number }> {
  const records = ['attempts', 'attempts-slow'].map((role) =>
    readTopic(gapless.environment['KAFKA_BROKERS']!, `${gapless.environment['TOPIC_PREFIX']!}.${role}.v1`),
  );
  const ids = (await Promise.all(records)).flat().map(({ headers }) => headers['attempt']!.split('"')[1]);
  return { attempts: ids.length, deliveries: new Set(ids).size };
}

describe('events of the largest size to as many endpoints as an org may have', () => {
  it('are pushed to each endpoint', async () => {
    const receiver = await aReceiver();
    for (let nth = 0; nth < 50; nth++) await api.createWebhook({ ...HOOK, url: `${receiver.url}/${nth}` });
    await emitLarge(4);
    await gapless.start([DispatcherModule]);
    // A dispatcher that stands still on a busy machine leaves its group, and then makes attempts again.
    await eventually(() => {
      const pushed = receiver.received.map(({ path, headers }) => `${path} ${String(headers['x-service-sequence'])}`);
      expect(new Set(pushed).size).toBe(200);
    });
    await receiver.close();
  });
});

describe('a recovery of more than a broker takes at once', () => {
  it('schedules all that was missed', async () => {
    const { id } = await api.createWebhook(HOOK);
    await api.request('PATCH', `/external/webhooks/${id}`, '{"is_active":false}');
    await emitLarge(40);
    await eventually(async () => {
      expect(await api.feedText('since=39')).toContain('"seq":40');
    });
    await api.request('PATCH', `/external/webhooks/${id}`, '{"is_active":true}');
    const answer = await api.request('POST', `/external/webhooks/${id}/recover`, '{"since_seq":0,"status":"missed"}');
    expect(answer.status).toBe(202);
    expect(JSON.parse(answer.text)).toMatchObject({ data: { complete: true, matched: 40, scheduled: 40 } });
    expect(await scheduled()).toEqual({ attempts: 40, deliveries: 40 });
  });
});
