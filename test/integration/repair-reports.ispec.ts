import { afterEach, beforeEach, expect, it } from '@jest/globals';
import {
  deliveryIdOf,
  SEQ_NONE,
  type DeliveryFact,
  type EndpointId,
  type EventId,
  type OrgId,
  type Seq,
} from '#libs/domain';
import { Store } from '#libs/postgres';
import {
  Appenders,
  checkpointRecord,
  factRecord,
  KafkaConnection,
  PartitionWriter,
  snapshotRecord,
} from '#libs/kafka-log';
import type { GaplessApp } from '#libs/platform';
import { createLogger } from '#libs/runtime';
import { repairCommand } from '../../apps/cli/src/repair/repair.command.js';
import { verifyCommand } from '../../apps/cli/src/verify/verify.command.js';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { runCommand } from '../support/command.js';
import { conversationData } from '../support/conversations.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anEventId, anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { aReceiver, type Receiver } from '../support/receiver.js';
import { oneTo } from '../support/sequence.js';
import { aStore } from '../support/store.js';

const NOTHING = { logOffset: 0, inboxOffset: 0, clockMs: null };

let gapless: GaplessUnderTest;
let app: GaplessApp;
let api: ApiClient;
let receiver: Receiver;
let orgId: OrgId;
let connection: KafkaConnection;

beforeEach(async () => {
  receiver = await aReceiver();
  gapless = await aGapless({ PARTITIONS: '1' });
  connection = new KafkaConnection({
    brokers: [gapless.environment['KAFKA_BROKERS']!],
    clientId: 'test',
    logger: createLogger('silent', 'test'),
    partitions: 1,
  });
  orgId = anOrgId();
  await start();
});

afterEach(async () => {
  await gapless.stop();
  await receiver.close();
});

async function start(): Promise<void> {
  app = await gapless.startAll();
  api = new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId));
}

function topic(role: string): string {
  return `${gapless.environment['TOPIC_PREFIX']!}.${role}.v1`;
}

async function emit(count: number): Promise<void> {
  await api.emit(oneTo(count).map((n) => ({ event: 'ticket.created', data: { n } })));
}

async function untilFed(count: number): Promise<readonly string[]> {
  return eventually(async () => {
    const feed = await api.feed();
    expect(feed.map(({ seq }) => seq)).toEqual(oneTo(count));
    return feed.map(({ id }) => id);
  });
}

async function handOff(id: string, occurredAt = new Date()): Promise<void> {
  const event = 'conversation.handed_off';
  await api.emit([{ event, occurred_at: occurredAt.toISOString(), data: { conversation: { id } } }]);
}

/** Waits until these chats are in the queue, and no others. */
async function untilQueued(...ids: readonly string[]): Promise<void> {
  await eventually(async () => {
    const { text } = await api.request('GET', `/internal/orgs/${orgId}/waiting-conversations`);
    const { data } = JSON.parse(text) as { readonly data: readonly { readonly conversation_id: string }[] };
    expect(data.map(({ conversation_id }) => conversation_id)).toEqual(ids);
  });
}

async function withStore(act: (store: Store) => Promise<unknown>): Promise<void> {
  const store = aStore(gapless.environment['DATABASE_URL']!);
  await store.open(() => undefined);
  try {
    await act(store);
  } finally {
    await store.close();
  }
}

async function deliveries(endpointId: string): Promise<readonly { readonly status: string }[]> {
  const answer = await api.request('GET', `/external/webhooks/${endpointId}/deliveries?limit=250`);
  return (JSON.parse(answer.text) as { readonly data: readonly { readonly status: string }[] }).data;
}

async function aWebhook(events: readonly string[]): Promise<EndpointId> {
  const { id } = await api.createWebhook({ url: receiver.url, events: [...events] });
  return id as EndpointId;
}

async function expectApplied(): Promise<void> {
  await eventually(async () => {
    const applied = await runCommand(repairCommand, gapless.environment, ['--apply']);
    expect([applied.failure, applied.lines.at(-1)]).toEqual([null, 'Done. Start all processes, then run verify.']);
  });
}

/** As far as a sequencer had come, by its checkpoint. */
async function writeCheckpoint(lastSeq: number): Promise<void> {
  const writer = new PartitionWriter(connection);
  await writer.write(topic('sequences'), 0, [
    snapshotRecord(orgId, lastSeq as Seq),
    checkpointRecord({ ...NOTHING, logOffset: lastSeq, inboxOffset: lastSeq }),
  ]);
  await writer.close();
}

it.each([
  { head: 3, next: 4, gone: [] },
  { head: null, next: 5, gone: ['seq 1 to 4 are gone for good, and later events come after them'] },
])('goes on after the last seq that is known when the log lost its end and its begin: head $head', async (lost) => {
  await emit(4);
  const ids = await untilFed(4);
  await app.stop();
  await writeCheckpoint(4);
  await withStore(async (store) => {
    await store.query('delete from events where org_id = $1', [orgId]);
    if (lost.head === null) await store.query('delete from org_heads where org_id = $1', [orgId]);
    else await store.query('update org_heads set last_seq = $2 where org_id = $1', [orgId, lost.head]);
  });
  await connection.withAdmin((admin) => admin.deleteTopics({ topics: [topic('log')] }));
  await start();
  await app.stop();
  // Retention has removed what the log and the inbox began with; the inbox still has the last event.
  const writer = new PartitionWriter(connection);
  await eventually(() => writer.write(topic('log'), 0, [{ key: null, value: Buffer.from('of nobody'), headers: {} }]));
  await writer.close();
  await connection.withAdmin(async (admin) => {
    // It asks where the leaders are, which deleting does not.
    for (const role of ['log', 'inbox']) await admin.fetchTopicOffsets(topic(role));
    await admin.deleteTopicRecords({ topic: topic('log'), partitions: [{ partition: 0, offset: '1' }] });
    await admin.deleteTopicRecords({ topic: topic('inbox'), partitions: [{ partition: 0, offset: '3' }] });
  });
  const dry = await runCommand(repairCommand, gapless.environment);
  const ofOrg = dry.lines.filter((line) => line.startsWith(`    org ${orgId}: `) && line.includes('gone for good'));
  expect(ofOrg).toEqual(lost.gone.map((text) => `    org ${orgId}: ${text}`));
  await expectApplied();
  await start();
  await eventually(async () => {
    expect((await api.feed()).map(({ seq, id }) => [seq, id])).toEqual([[lost.next, ids[3]]]);
  });
});

it('says which seqs of which org are gone for good, when neither Kafka nor Postgres has them', async () => {
  await emit(10);
  await untilFed(10);
  await app.stop();
  await writeCheckpoint(10);
  // A database from before the last four, and brokers that have lost log and inbox.
  await withStore(async (store) => {
    await store.query('delete from events where org_id = $1 and seq > 6', [orgId]);
    await store.query('update org_heads set last_seq = 6 where org_id = $1', [orgId]);
  });
  await connection.withAdmin((admin) => admin.deleteTopics({ topics: [topic('inbox'), topic('log')] }));
  await start();
  await app.stop();
  const dry = await runCommand(repairCommand, gapless.environment);
  expect(dry.lines).toEqual(
    expect.arrayContaining([
      `    org ${orgId}: seq 1 to 6`,
      '  4 events of the log are gone for good: neither Kafka nor Postgres has them',
      `    org ${orgId}: seq 7 to 10 are gone for good, and later events get these seqs`,
      expect.stringMatching(/the inbox lost 10 records that were read, and maybe later ones/),
    ]),
  );
  const { lines } = await runCommand(repairCommand, gapless.environment, ['--json']);
  expect(JSON.parse(lines[0]!)).toMatchObject({
    partitions: [
      {
        gone_events: 4,
        gone_seqs: [{ org_id: orgId, first_seq: 7, last_seq: 10, given_again: true }],
        lost_inbox_records: 10,
      },
    ],
  });
  await expectApplied();
  await start();
  await emit(1);
  await untilFed(7);
});

it('gives events that only the inbox still has their seqs again, though a checkpoint has later ones', async () => {
  await emit(3);
  const ids = await untilFed(3);
  await app.stop();
  await writeCheckpoint(3);
  // A database that was away when the organization began, and brokers that have lost the log.
  await withStore(async (store) => {
    for (const table of ['events', 'org_heads']) await store.query(`delete from ${table} where org_id = $1`, [orgId]);
  });
  await connection.withAdmin((admin) => admin.deleteTopics({ topics: [topic('log')] }));
  await start();
  await app.stop();
  await expectApplied();
  await start();
  expect(await untilFed(3)).toEqual(ids);
});

it('puts back more events than it reads at once, with their bytes and seqs, and no chat of an example', async () => {
  const quiet = anOrgId();
  const ofQuiet = async () => new ApiClient(app.url, await anApiKey(app.app.get(Store), quiet));
  await (await ofQuiet()).emit(oneTo(2).map((n) => ({ event: 'ticket.created', data: { n } })));
  const example = `/external/webhooks/${await aWebhook(['ticket.updated'])}/send-example`;
  await api.request('POST', example, JSON.stringify({ event: 'conversation.handed_off' }));
  for (let sent = 0; sent < 600; sent += 100) await emit(100);
  await untilFed(601);
  const before = await api.feed();
  await app.stop();
  // As retention would. Only the head of this organization is left.
  await withStore((store) => store.query('delete from events where org_id = $1', [quiet]));
  await connection.withAdmin((admin) => admin.deleteTopics({ topics: ['inbox', 'log', 'sequences'].map(topic) }));
  await start();
  await app.stop();
  const dry = await runCommand(repairCommand, gapless.environment);
  expect(dry.lines).toEqual(
    expect.arrayContaining([
      '  the log ends at 0; 601 events go back from Postgres:',
      `    org ${orgId}: seq 1 to 601`,
    ]),
  );
  await expectApplied();
  await start();
  await emit(1);
  await untilFed(602);
  const later = await ofQuiet();
  await later.emit([{ event: 'ticket.created', data: {} }]);
  await eventually(async () => {
    expect((await later.feed()).map(({ seq }) => seq)).toEqual([3]);
  });
  expect((await api.feed()).slice(0, 601)).toEqual(before);
  const { lines, failure } = await runCommand(verifyCommand, gapless.environment);
  expect([lines.at(-1), failure]).toEqual(['No differences.', null]);
  await handOff('cnv_1');
  await untilQueued('cnv_1');
});

it('makes a log that verify accepts when only the head of an organization is left, and all of Kafka is lost', async () => {
  await emit(2);
  await untilFed(2);
  await app.stop();
  // As retention would.
  await withStore((store) => store.query('delete from events where org_id = $1', [orgId]));
  await connection.withAdmin(async (admin) => {
    const prefix = `${gapless.environment['TOPIC_PREFIX']!}.`;
    const ours = async () => (await admin.listTopics()).filter((name) => name.startsWith(prefix));
    await admin.deleteTopics({ topics: await ours() });
    await eventually(async () => {
      expect(await ours()).toEqual([]);
    });
  });
  const adopted = await runCommand(repairCommand, gapless.environment, ['adopt', '--apply']);
  expect([adopted.failure, adopted.lines.at(-1)]).toEqual([null, 'Done. Run repair next.']);
  await expectApplied();
  await start();
  await emit(1);
  await eventually(async () => {
    expect((await api.feed()).map(({ seq }) => seq)).toEqual([3]);
  });
  const { lines, failure } = await runCommand(verifyCommand, gapless.environment);
  expect([lines.at(-1), failure]).toEqual(['No differences.', null]);
});

it.each([
  { read: 3, lost: ['inbox', 'log'] },
  { read: 0, lost: ['inbox', 'log', 'sequences'] },
])(
  'alerts to the chats of later events, when alerting had read what is gone for good: $lost',
  async ({ read, lost }) => {
    await emit(2);
    await handOff('cnv_1', new Date(Date.now() - 60_000));
    await untilQueued('cnv_1');
    await emit(6);
    await handOff('cnv_2', new Date(Date.now() - 30_000));
    await untilQueued('cnv_1', 'cnv_2');
    await eventually(async () => {
      expect((await api.feed()).length).toBeGreaterThanOrEqual(10);
    });
    await app.stop();
    // The feed was behind alerting, and brokers have lost log and inbox.
    await withStore(async (store) => {
      await store.query('delete from events where seq > $1', [read]);
      await store.query('update org_heads set last_seq = $1', [read]);
      await store.query('delete from org_heads where last_seq = 0');
      await store.query(
        `update projection_offsets set next_offset = $2, anchor = null where projection = 'feed' and topic = $1`,
        [topic('log'), read],
      );
    });
    await connection.withAdmin((admin) => admin.deleteTopics({ topics: lost.map(topic) }));
    await start();
    await app.stop();
    await expectApplied();
    await start();
    await api.emit([
      { event: 'conversation.abandoned', data: { ...conversationData('cnv_1', { status: 'abandoned' }) } },
    ]);
    await handOff('cnv_3');
    await untilQueued('cnv_2', 'cnv_3');
  },
);

it('says which seqs have other events in the feed than in the log', async () => {
  await emit(3);
  const ids = await untilFed(3);
  await withStore((store) =>
    store.query('update events set envelope = $2 where org_id = $1 and seq = 2', [orgId, Buffer.from('{}')]),
  );
  await app.stop();
  const dry = await runCommand(repairCommand, gapless.environment);
  expect(dry.lines.slice(0, 3)).toEqual([
    '1 seqs have other events in the feed than in the log:',
    `    org ${orgId}: 1 seqs from 2 to 2`,
    expect.stringMatching(/rebuild --from-empty/),
  ]);
  const { lines } = await runCommand(repairCommand, gapless.environment, ['--json']);
  expect(JSON.parse(lines[0]!)).toMatchObject({
    ok: false,
    conflicts: [{ org_id: orgId, seq: 2, feed_event_id: ids[1] }],
  });
});

it('projects the delivery facts that were written after their topic was lost', async () => {
  const endpointId = await aWebhook(['ticket.created']);
  const other = await aWebhook(['ticket.updated']);
  const deleted = await aWebhook(['lead.created']);
  await emit(5);
  await untilFed(5);
  await eventually(async () => {
    expect((await deliveries(endpointId)).map(({ status }) => status)).toEqual(oneTo(5).map(() => 'delivered'));
  });
  await api.request('DELETE', `/external/webhooks/${deleted}`);
  await app.stop();
  await connection.withAdmin((admin) => admin.deleteTopics({ topics: [topic('deliveries'), topic('attempts')] }));
  app = await gapless.start([]);
  await eventually(() => connection.withAdmin((admin) => admin.fetchTopicOffsets(topic('deliveries'))));
  let seq = SEQ_NONE + 5;
  const scheduled = (of: EndpointId): DeliveryFact => {
    const eventId: EventId = anEventId();
    const deliveryId = deliveryIdOf(eventId, of);
    const event = 'ticket.updated';
    const createdAtMs = Date.now();
    return {
      type: 'scheduled',
      delivery: { deliveryId, endpointId: of, orgId, eventId, event, seq: ++seq as Seq, createdAtMs },
    };
  };
  // More than were lost, so that the topic is longer than what was read of it. Those in the middle say nothing.
  const facts = [10, 2_000, 10].flatMap((count, nth) => oneTo(count).map(() => scheduled(nth === 1 ? deleted : other)));
  const appender = app.app.get(Appenders).open();
  await appender.connect();
  await appender.append(facts.map((fact) => factRecord(topic('deliveries'), fact)));
  await app.stop();
  // Brokers that delete a topic forget the offsets of its groups; brokers that lose files do not.
  const groupId = `${gapless.environment['TOPIC_PREFIX']!}-dispatcher`;
  const partitions = [{ partition: 0, offset: '5' }];
  await connection.withAdmin((admin) => admin.setOffsets({ groupId, topic: topic('attempts'), partitions }));
  const dry = await runCommand(repairCommand, gapless.environment);
  expect(dry.lines).toEqual(
    expect.arrayContaining([
      expect.stringMatching(
        /^deliveries\/0: facts up to \d+ were read, the topic ends at 2020\..*a rebuild would lose it/,
      ),
      '  facts from 0 on were written since, and are projected',
      expect.stringMatching(/^group .*attempts\.v1\/0 continues at 0 instead of 5$/),
      '  attempts that are gone are put back by the dispatchers, from 5 minutes after they were due',
    ]),
  );
  await expectApplied();
  await start();
  await eventually(async () => {
    expect(await deliveries(other)).toHaveLength(20);
    expect(await deliveries(endpointId)).toHaveLength(5);
  });
  expect((await runCommand(repairCommand, gapless.environment)).lines).toEqual([
    'No topic went back. There is nothing to repair.',
  ]);
});
