import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { FeedClient, MemoryCursor, readFeed, type GaplessEvent } from '#libs/consumer';
import { CATALOG, type EventType, type OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import type { GaplessApp } from '#libs/platform';
import { HttpSink, Producer, type NewEvent } from '#libs/producer';
import { KafkaSink } from '../../../libs/producer/src/kafka/kafka-sink.js';
import { emitInTransaction, GaplessOutbox1700000000000, OutboxRelay } from '../../../libs/producer/src/outbox/index.js';
import { ApiClient } from '../../support/api-client.js';
import { anApiKey } from '../../support/api-keys.js';
import { freePort } from '../../support/free-port.js';
import { aGapless, type GaplessUnderTest } from '../../support/gapless.js';
import { anEventId, anOrgId } from '../../support/ids.js';
import { createTestDatabase, type TestDatabase } from '../../support/infrastructure/database.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { aReceiver, type Receiver } from '../../support/receiver.js';
import { drawsFrom, oneTo } from '../../support/sequence.js';
import { ConsumerProcess } from './support/consumer-process.js';
import { aLossyWay } from './support/lossy-way.js';

const KILLS = 8;
const EVENTS = 2_000;
const EVENTS_PER_LIFE = EVENTS / KILLS;

/** As the reference consumer keeps it. */
interface KeptEvent {
  readonly event_id: string;
  readonly seq: string;
  readonly source: 'push' | 'feed';
}

let gapless: GaplessUnderTest;
let app: GaplessApp;
let database: TestDatabase;
let dataDir: string;
let serviceKey: string;
const consumers: ConsumerProcess[] = [];
const receivers: Receiver[] = [];

beforeAll(async () => {
  // A consumer that is away for a moment must not be given up.
  gapless = await aGapless({ RETRY_SCHEDULE: '200ms,500ms,1s', AUTO_DISABLE_AFTER: '1000000' });
  app = await gapless.startAll();
  database = await createTestDatabase(() => Promise.resolve(), 'empty');
  dataDir = mkdtempSync(join(tmpdir(), 'gapless-consumer-'));
  serviceKey = await anApiKey(app.app.get(Store), null);
});

afterAll(async () => {
  await Promise.all(consumers.map((consumer) => consumer.end('SIGKILL')));
  await Promise.all(receivers.map((receiver) => receiver.close()));
  rmSync(dataDir, { recursive: true, force: true });
  await gapless.stop();
  await database.drop();
});

interface Org {
  readonly orgId: OrgId;
  readonly apiKey: string;
  readonly api: ApiClient;
}

async function anOrg(): Promise<Org> {
  const orgId = anOrgId();
  const apiKey = await anApiKey(app.app.get(Store), orgId);
  return { orgId, apiKey, api: new ApiClient(app.url, apiKey) };
}

function anEvent(orgId: OrgId, n: number): NewEvent {
  return { event: 'ticket.updated', org_id: orgId, data: { n } };
}

/** The reference consumer, on behalf of the org. */
function aConsumer({ orgId, apiKey }: Org, args: readonly string[] = []): ConsumerProcess {
  const credentials = { base_url: app.url, org_id: orgId, api_key: apiKey };
  writeFileSync(join(dataDir, 'credentials.json'), JSON.stringify(credentials));
  const consumer = new ConsumerProcess(dataDir, args);
  consumers.push(consumer);
  return consumer;
}

async function feedOf({ apiKey }: Org, count: number): Promise<readonly GaplessEvent[]> {
  const events: GaplessEvent[] = [];
  const feed = new FeedClient({ baseUrl: app.url, apiKey });
  for await (const batch of readFeed({ feed, cursor: new MemoryCursor() })) {
    events.push(...batch);
    if (events.length >= count) return events;
  }
  return events;
}

describe('what a product service emits', () => {
  it('is in the feed once, by whichever way and how often it is sent', async () => {
    const org = await anOrg();
    const { KAFKA_BROKERS: brokers = '', TOPIC_PREFIX: topicPrefix = '' } = gapless.environment;
    const kafka = new Kafka({ clientId: 'test', brokers: brokers.split(','), logLevel: logLevel.NOTHING });
    const direct = new KafkaSink({ kafka, topicPrefix });
    const http = new HttpSink({ baseUrl: app.url, apiKey: serviceKey });
    const ids: string[] = [];
    for (const sink of [http, direct]) {
      const events = oneTo(3).map((n) => ({ ...anEvent(org.orgId, n), id: anEventId() }));
      await new Producer(sink).emit(events);
      await new Producer(sink).emit(events);
      ids.push(...events.map(({ id }) => id));
      // The next ones come after these, however they travel.
      expect(await feedOf(org, ids.length)).toHaveLength(ids.length);
    }
    const dataSource = new DataSource({
      type: 'postgres',
      url: database.url,
      migrations: [GaplessOutbox1700000000000],
    });
    await dataSource.initialize();
    await dataSource.runMigrations();
    ids.push(await dataSource.transaction((manager) => emitInTransaction(manager, anEvent(org.orgId, 1))));
    const told = () => undefined;
    await new OutboxRelay({ dataSource, sink: direct, onError: told, onRefused: told }).relay();
    const feed = await feedOf(org, ids.length);
    expect(feed.map(({ id, seq }) => [seq, id])).toEqual(ids.map((id, index) => [index + 1, id]));
    await dataSource.destroy();
    await direct.close();
  });
});

describe('the reference consumer', () => {
  it('registers itself, prints what comes and the alerts, and deletes its endpoint at the end', async () => {
    const org = await anOrg();
    await org.api.emit([{ event: 'ticket.created', data: {} }]);
    await feedOf(org, 1);
    const consumer = aConsumer(org);
    await consumer.printed('Registered as endpoint whe_');
    const types: readonly EventType[] = [
      'conversation.queued',
      'conversation.queued.escalated',
      'conversation.picked_up',
    ];
    const printed: string[] = [];
    // One by one: pushes to this endpoint have no order, and an event that is overtaken may be read from the feed.
    for (const [index, event] of types.entries()) {
      const [id] = await org.api.emit([{ event, data: exampleOf(event) }]);
      printed.push(await consumer.printed(`#${index + 2}  ${event}  ${id!}`));
    }
    // The consumer also looks into the feed by itself, and may be faster there than a push.
    const isPush = /attempt \d+ {2}signature verified ✓ {2}answered 200$/;
    expect(printed.filter((line) => !isPush.test(line) && !line.endsWith('read from the feed'))).toEqual([]);
    expect(printed.filter((line) => isPush.test(line))).not.toEqual([]);
    expect(await consumer.printed('▼  CLEAR')).toContain('raised by #2, escalated by #3, cleared by #4');
    expect(consumer.lines.join('\n')).not.toContain('#1  ticket.created');
    expect(await consumer.end('SIGTERM')).toBe(0);
    const webhooks = await org.api.request('GET', '/external/webhooks');
    expect(JSON.parse(webhooks.text)).toEqual({ data: [] });
  });

  it(`handles each of ${EVENTS} events once and in order, killed ${KILLS} times and with a tenth of the pushes lost`, async () => {
    const org = await anOrg();
    const draw = drawsFrom(20_261_121);
    const port = await freePort();
    const way = aLossyWay(port, draw);
    const receiver = await aReceiver(way.answer);
    receivers.push(receiver);
    const webhook = await org.api.createWebhook({ url: receiver.url, events: ['ticket.updated'] });
    const args = ['--no-register', '--secret', webhook.secret, '--port', String(port), '--database', database.url];
    const kept = new Client({ connectionString: database.url });
    // Ended by the server when the database is removed, should the test fail before it ends it.
    kept.on('error', () => undefined);
    await kept.connect();
    const keptCount = async () => {
      const { rows } = await kept.query<{ count: string }>('select count(*) from reference_events');
      return Number(rows[0]?.count);
    };
    const untilKept = (count: number) =>
      eventually(
        async () => {
          expect(await keptCount()).toBeGreaterThanOrEqual(count);
        },
        { intervalMs: 5 },
      );

    const producer = new Producer(new HttpSink({ baseUrl: app.url, apiKey: serviceKey }));
    const ids: string[] = [];
    let consumer = aConsumer(org, args);
    await consumer.printed('Prints events after #0');
    for (let life = 0; life < KILLS; life++) {
      const events = oneTo(EVENTS_PER_LIFE).map((n) => anEvent(org.orgId, life * EVENTS_PER_LIFE + n));
      ids.push(...(await producer.emit(events)));
      await untilKept(life * EVENTS_PER_LIFE + draw(EVENTS_PER_LIFE));
      await consumer.end('SIGKILL');
      consumer = aConsumer(org, args);
    }
    await untilKept(EVENTS);
    // The last life may have had nothing left to keep, and not even be up.
    await consumer.printed('Prints events after #');
    expect(await consumer.end('SIGTERM')).toBe(0);

    const { rows } = await kept.query<KeptEvent>(
      'select event_id, seq, source from reference_events order by position',
    );
    await kept.end();
    expect(rows.map(({ seq }) => Number(seq))).toEqual(oneTo(EVENTS));
    expect(rows.map(({ event_id }) => event_id)).toEqual(ids);
    // Both ways were of use.
    expect(new Set(rows.map(({ source }) => source))).toEqual(new Set(['push', 'feed']));
    expect(way.lost()).toBeGreaterThan(EVENTS / 20);
  });
});

function exampleOf(type: EventType): unknown {
  return CATALOG.find(({ event }) => event === type)?.example;
}
