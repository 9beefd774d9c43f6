import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { systemClock, type EventId, type Seq } from '#libs/domain';
import { KafkaConnection, logRecord, PartitionWriter, readPartitions, topicNames } from '#libs/kafka-log';
import { FeedLists, FeedPlaces, InstallationRows, SecretCipher, type Store } from '#libs/postgres';
import { createLogger, databaseName, DAY_MS, type Config } from '#libs/runtime';
import { anOrgId } from '../../../../../test/support/ids.js';
import { createTestDatabase, type TestDatabase } from '../../../../../test/support/infrastructure/database.js';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { aReplicatedPostgres } from '../../../../../test/support/infrastructure/replicated-postgres.js';
import { oneTo } from '../../../../../test/support/sequence.js';
import { aStore, migrateTestDatabase } from '../../../../../test/support/store.js';
import { makeTopics } from '../../../../../test/support/topics.js';
import type { Installation } from '../../installation.js';
import { withStore } from '../../with-store.js';
import { feedTables, foldHere } from '../fold/fold-stretches.js';
import { moveFeed } from './move-feed.js';

const EVENTS = 5;
const PROGRESS = { begin: () => undefined, advance: () => undefined, end: () => undefined };

let connection: KafkaConnection;
let writer: PartitionWriter;
let databases: readonly TestDatabase[];
let installation: Installation;
let topic: string;
let store: Store;

beforeAll(() => {
  connection = new KafkaConnection({
    brokers: process.env['TEST_KAFKA_BROKERS']!.split(','),
    clientId: 'test',
    logger: createLogger('silent', 'test'),
    partitions: 1,
  });
  writer = new PartitionWriter(connection);
});

afterAll(async () => {
  await writer.close();
});

beforeEach(async () => {
  const topics = topicNames(`t${randomBytes(4).toString('hex')}`, []);
  topic = topics.log;
  databases = await Promise.all(oneTo(2).map(() => createTestDatabase(migrateTestDatabase)));
  store = aStore(databases[0]!.url);
  await store.open(() => undefined);
  const row = {
    id: randomUUID(),
    kafkaClusterId: 'cluster',
    topicPrefix: 'gapless',
    partitions: 1,
    createdAt: '2026-03-02T09:00:00.000Z',
    announced: true,
  };
  await new InstallationRows(store).create(row, { place: 0, places: 1 });
  store.feed.isList(null);
  const config = { partitions: 1, retentionMs: 30 * DAY_MS, databaseUrl: databases[0]!.url };
  installation = { connection, topics, store, config: config as Config };
  await makeLog(EVENTS);
  // A broker that has just started may still be loading what it knows of groups.
  await eventually(() => readPartitions(connection, [{ topic, partition: 0, from: 0 }], () => undefined));
  const fold = foldHere(connection, feedTables(store), { projection: 'feed' }, () => undefined);
  await fold([{ topic, partition: 0, from: 0, to: EVENTS }]);
});

afterEach(async () => {
  jest.restoreAllMocks();
  await store.close();
  await Promise.all(databases.map((database) => database.drop()));
});

/** Makes the topic of the log, with so many events of an organization. */
async function makeLog(count: number): Promise<void> {
  await eventually(() =>
    makeTopics(connection, [{ topic, partitions: 1, retentionMs: -1, compacted: false, appendTime: false }]),
  );
  const orgId = anOrgId();
  const records = oneTo(count).map((seq) =>
    logRecord(
      {
        orgId,
        seq: seq as Seq,
        id: `evt_${String(seq).padStart(26, '0')}` as EventId,
        event: 'ticket.created',
        widgetId: null,
        targetEndpoint: null,
        traceparent: null,
        envelope: Buffer.from('{}'),
      },
      { occurredAt: '2026-01-01T00:00:00Z', inboxOffset: seq, inboxTimeMs: systemClock.now() },
    ),
  );
  await eventually(() => writer.write(topic, 0, records));
}

async function deleteLog(): Promise<void> {
  await connection.withAdmin(async (admin) => {
    await admin.deleteTopics({ topics: [topic] });
    // Until the broker has heard of it, the topic looks as if it did not have to be made.
    await eventually(async () => {
      expect(await admin.listTopics()).not.toContain(topic);
    });
  });
}

async function move(url = databases[1]!.url): Promise<unknown> {
  const cipher = new SecretCipher(`test:${randomBytes(32).toString('base64')}`);
  return moveFeed(installation, { urls: [url], cipher, threads: 1, clock: systemClock }, PROGRESS);
}

describe('a move into databases that were folded from other records than the log has', () => {
  const isRefused = /were folded from another state of .*\/0: offset .* holds another record.*create them again/;

  it('is refused when it goes on after an interruption', async () => {
    jest.spyOn(FeedLists.prototype, 'readiness').mockRejectedValueOnce(new Error('interrupted'));
    await expect(move()).rejects.toThrow('interrupted');
    await deleteLog();
    await makeLog(EVENTS + 1);
    await expect(move()).rejects.toThrow(isRefused);
    expect(await new FeedLists(store).servedId()).toBeNull();
  });

  it('is refused before the feed is closed', async () => {
    const close = jest.spyOn(FeedLists.prototype, 'close');
    jest.spyOn(FeedLists.prototype, 'readiness').mockImplementationOnce(async () => {
      const target = aStore(databases[1]!.url);
      await target.open(() => undefined);
      await target.query(`update projection_offsets set anchor = '0:0000000000000000'`);
      await target.close();
      return { ready: 0, missing: [] };
    });
    await expect(move()).rejects.toThrow(isRefused);
    expect(close).not.toHaveBeenCalled();
    expect(await new FeedLists(store).servedId()).toBeNull();
  });
});

describe('a move into an empty database', () => {
  it('makes no account for requests there if the settings say so', async () => {
    const empty = await createTestDatabase(() => Promise.resolve(), 'empty');
    try {
      installation = { ...installation, config: { ...installation.config, tenantDatabaseUrl: 'off' } };
      jest.spyOn(FeedLists.prototype, 'readiness').mockRejectedValueOnce(new Error('interrupted'));
      await expect(move(empty.url)).rejects.toThrow('interrupted');
      const logins = await withStore({ DATABASE_URL: empty.url }, (target) => target.query('select from tenant_login'));
      expect(logins).toEqual([]);
    } finally {
      await empty.drop();
    }
  });
});

describe('a move away from a standby', () => {
  it('ends, and names the standby as not marked', async () => {
    const servers = await aReplicatedPostgres();
    const standby = await servers.addStandby();
    const name = databaseName(standby.url);
    const served = aStore(store.databaseUrl, { databaseUrls: [standby.url], partitionOf: () => 0 });
    try {
      await move(servers.primary.url);
      await served.open(() => undefined);
      served.feed.isList(await new FeedLists(store).servedId());
      // Until the standby has replayed the move.
      await eventually(async () => {
        await new FeedPlaces(served).joinAll();
        expect(await served.feed.ofPartition(0).query('select from events')).toHaveLength(EVENTS);
      });
      installation = { ...installation, store: served };
      expect(await move()).toMatchObject({ events: EVENTS, left: [name], unmarked: [name] });
    } finally {
      await served.close();
      await servers.stop();
    }
  });
});
