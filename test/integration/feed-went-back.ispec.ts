import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import type { GaplessApp } from '#libs/platform';
import { verifyCommand } from '../../apps/cli/src/verify/verify.command.js';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { runCommand } from '../support/command.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { aReceiver, type Receiver } from '../support/receiver.js';
import { oneTo } from '../support/sequence.js';
import { aStore } from '../support/store.js';

const EVENTS = 20;

let gapless: GaplessUnderTest;
let app: GaplessApp;
let api: ApiClient;
let receiver: Receiver;
let orgId: OrgId;
let key: string | undefined;

async function start(): Promise<void> {
  app = await gapless.startAll();
  key ??= await anApiKey(app.app.get(Store), orgId);
  api = new ApiClient(app.url, key);
}

async function untilDelivered(endpointId: string): Promise<void> {
  await eventually(async () => {
    const { text } = await api.request('GET', `/external/webhooks/${endpointId}/deliveries?limit=100`);
    const { data } = JSON.parse(text) as { data: readonly { status: string }[] };
    expect(data.map(({ status }) => status)).toEqual(oneTo(EVENTS).map(() => 'delivered'));
  });
}

beforeEach(async () => {
  key = undefined;
  gapless = await aGapless({ PARTITIONS: '1' });
  receiver = await aReceiver();
  orgId = anOrgId();
  await start();
});

afterEach(async () => {
  await gapless.stop();
  await receiver.close();
});

it.each([
  [
    'older than what was committed',
    [
      'delete from events where seq > 5',
      'update org_heads set last_seq = 5',
      `update projection_offsets set next_offset = 5, anchor = null where projection = 'feed'`,
      'truncate deliveries, delivery_attempts',
      `update projection_offsets set next_offset = 0, anchor = null where projection = 'deliveries'`,
    ],
  ],
  ['emptied', ['truncate events, org_heads, feed_days, deliveries, delivery_attempts, projection_offsets']],
])('fills projections that are %s at the start, before any new event', async (_, statements) => {
  const { id } = await api.createWebhook({ url: receiver.url, events: ['ticket.created'] });
  await api.emit(oneTo(EVENTS).map((n) => ({ event: 'ticket.created', data: { n } })));
  await untilDelivered(id);
  const before = await api.feedText('since=0&limit=1000');
  await app.stop();
  const store = aStore(gapless.environment['DATABASE_URL']!);
  await store.open(() => undefined);
  for (const statement of statements) await store.query(statement);
  await store.close();
  await start();
  await eventually(async () => {
    expect(await api.feedText('since=0&limit=1000')).toBe(before);
  });
  await untilDelivered(id);
  await api.emit([{ event: 'ticket.created', data: { n: EVENTS + 1 } }]);
  await eventually(async () => {
    expect((await api.feed()).map(({ seq }) => seq)).toEqual(oneTo(EVENTS + 1));
  });
  await eventually(async () => {
    const { lines, failure } = await runCommand(verifyCommand, gapless.environment);
    expect([lines.at(-1), failure]).toEqual(['No differences.', null]);
  });
});
