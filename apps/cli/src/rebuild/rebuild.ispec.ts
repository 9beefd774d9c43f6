import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { systemClock, VERSION, type EventId, type OrgId, type Seq } from '#libs/domain';
import {
  KafkaConnection,
  LogPositions,
  logRecord,
  partitionOf,
  PartitionWriter,
  readPartitions,
  topicNames,
} from '#libs/kafka-log';
import { LOOKS_AT_FEED_LIST, PostgresProbe, ProjectionShadow, Store } from '#libs/postgres';
import { createLogger, DAY_MS, type Config } from '#libs/runtime';
import { aDatabaseLogin } from '../../../../test/support/database-login.js';
import { anOrgId } from '../../../../test/support/ids.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/infrastructure/database.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { makeTopics } from '../../../../test/support/topics.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { aStore, migrateTestDatabase } from '../../../../test/support/store.js';
import { writeInTransaction } from '../../../../test/support/write-in-transaction.js';
import type { Installation } from '../installation.js';
import { assignPlaces } from './assign-places.js';
import { feedTables, foldHere } from './fold/fold-stretches.js';
import { foldInThread } from './fold/fold-thread.js';
import type { FromFoldThread } from './fold/fold-threads.js';
import { FeedFollower } from './move/feed-follower.js';
import { rebuild, workOf } from './rebuild.js';

const TOPIC = { partitions: 2, retentionMs: -1, compacted: false, appendTime: false };
const topics = topicNames(`t${randomBytes(4).toString('hex')}`, []);
const PROGRESS = { begin: () => undefined, advance: () => undefined, end: () => undefined };
const REQUEST = {
  projections: ['feed', 'deliveries'],
  fromEmpty: false,
  startsOver: false,
  threads: 1,
  clock: systemClock,
} as const;

let connection: KafkaConnection;
let writer: PartitionWriter;
let databases: readonly [TestDatabase, TestDatabase];
/** The main database has partition 0 of the log, and another one has partition 1. */
let store: Store;
let other: Store;
let installation: Installation;

beforeAll(async () => {
  connection = new KafkaConnection({
    brokers: process.env['TEST_KAFKA_BROKERS']!.split(','),
    clientId: 'test',
    logger: createLogger('silent', 'test'),
    partitions: 2,
  });
  writer = new PartitionWriter(connection);
  await makeTopics(
    connection,
    [topics.log, topics.deliveries].map((topic) => ({ topic, ...TOPIC })),
  );
  databases = await Promise.all([createTestDatabase(migrateTestDatabase), createTestDatabase(migrateTestDatabase)]);
  const databaseUrls = databases.map(({ url }) => url);
  store = aStore(databases[0].url, { databaseUrls, partitionOf: () => 0 });
  await store.open(() => undefined);
  const [server] = store.feed.others;
  other = server!.store;
  await other.openNow();
  store.feed.joined(server!);
  const config = { partitions: 2, autoDisableAfter: 20, retentionMs: 30 * DAY_MS, databaseUrl: databases[0].url };
  installation = { connection, topics, store, config: config as Config };
  await append(0, 3);
  await append(1, 2);
  // A broker that has just started may still be loading what it knows of groups.
  await eventually(() => readPartitions(connection, [{ topic: topics.log, partition: 0, from: 0 }], () => undefined));
});

afterEach(() => {
  jest.restoreAllMocks();
});

afterAll(async () => {
  await writer.close();
  await store.close();
  await Promise.all(databases.map((database) => database.drop()));
});

function recordsOf(orgId: OrgId, seqs: readonly number[]) {
  return seqs.map((seq) =>
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
}

/** Appends events of an org to a partition of the log. */
async function append(partition: number, count: number, orgId = anOrgId()): Promise<void> {
  await writer.write(topics.log, partition, recordsOf(orgId, oneTo(count)));
}

async function noteServed(from: Store, projection: string, topic: string, partition: number, next: number) {
  await from.query(
    'insert into projection_offsets (projection, topic, partition, next_offset) values ($1, $2, $3, $4)',
    [projection, topic, partition, next],
  );
}

async function placesIn(from: Store): Promise<readonly string[]> {
  const rows = await from.query<{ place: string }>(
    `select projection || '/' || partition || ' at ' || next_offset as place from projection_offsets order by 1`,
  );
  return rows.map(({ place }) => place);
}

/** Returns an organization whose place is that partition. */
function anOrgOf(partition: number): OrgId {
  for (;;) {
    const orgId = anOrgId();
    if (partitionOf(orgId, 2) === partition) return orgId;
  }
}

async function seqsOf(orgId: OrgId): Promise<readonly number[]> {
  const rows = await store.query<{ seq: string }>('select seq from events where org_id = $1 order by seq', [orgId]);
  return rows.map(({ seq }) => Number(seq));
}

describe('a rebuild', () => {
  it('keeps the places of partitions whose records retention removed, and drops those of an earlier list', async () => {
    await connection.withAdmin(async (admin) => {
      // kafkajs has to know the topic.
      await admin.fetchTopicOffsets(topics.log);
      await admin.deleteTopicRecords({ topic: topics.log, partitions: [{ partition: 0, offset: '3' }] });
    });
    await noteServed(store, 'feed', topics.log, 0, 3);
    // The main database had the whole feed before.
    await noteServed(store, 'feed', topics.log, 1, 1);
    await noteServed(other, 'feed', topics.log, 1, 2);
    await rebuild(installation, REQUEST, PROGRESS);
    expect(await placesIn(store)).toEqual(['feed/0 at 3']);
    expect(await placesIn(other)).toEqual(['feed/1 at 2']);
    expect(await store.query('select from events')).toEqual([]);
    expect(await other.query('select from events')).toHaveLength(2);
  });

  it('begins after the records that retention removed if the places are lost', async () => {
    await store.query('truncate projection_offsets');
    await rebuild(installation, { ...REQUEST, fromEmpty: true }, PROGRESS);
    expect(await placesIn(store)).toEqual(['feed/0 at 3']);
  });

  it('keeps the events within retention that the log no longer has', async () => {
    const [gone, cut] = [anOrgOf(0), anOrgOf(0)];
    await append(0, 2, gone);
    await append(0, 5, cut);
    await rebuild(installation, { ...REQUEST, fromEmpty: true }, PROGRESS);
    await connection.withAdmin(async (admin) => {
      await admin.fetchTopicOffsets(topics.log);
      await admin.deleteTopicRecords({ topic: topics.log, partitions: [{ partition: 0, offset: '8' }] });
    });
    const report = await rebuild(installation, REQUEST, PROGRESS);
    expect(await seqsOf(gone)).toEqual([1, 2]);
    expect(await seqsOf(cut)).toEqual([1, 2, 3, 4, 5]);
    expect(report).toMatchObject({
      kept: 5,
      compared: expect.arrayContaining([{ table: 'events', rows: 9, differing: 0 }]),
    });
    // Reads go by the days.
    expect(await store.query('select from feed_days where org_id = any($1)', [[gone, cut]])).toHaveLength(2);
  });

  it('serves what it served before, however far its clock is ahead', async () => {
    const [kept, gone] = [anOrgOf(0), anOrgOf(0)];
    await append(0, 2, gone);
    await append(0, 3, kept);
    await rebuild(installation, { ...REQUEST, fromEmpty: true }, PROGRESS);
    await connection.withAdmin(async (admin) => {
      const offsets = await admin.fetchTopicOffsets(topics.log);
      const end = Number(offsets.find(({ partition }) => partition === 0)?.high);
      await admin.deleteTopicRecords({ topic: topics.log, partitions: [{ partition: 0, offset: String(end - 3) }] });
    });
    const inFortyDays = { now: () => systemClock.now() + 40 * DAY_MS };
    const report = await rebuild(installation, { ...REQUEST, clock: inFortyDays }, PROGRESS);
    expect(await seqsOf(gone)).toEqual([1, 2]);
    expect(await seqsOf(kept)).toEqual([1, 2, 3]);
    const rows = (await store.query('select from events')).length + (await other.query('select from events')).length;
    expect(report.compared).toContainEqual({ table: 'events', rows, differing: 0 });
  });

  it('folds what comes while it begins the exchange without other threads', async () => {
    await rebuild(installation, { ...REQUEST, fromEmpty: true }, PROGRESS);
    const orgId = anOrgOf(0);
    type Query = (this: Store, ...asked: Parameters<Store['query']>) => Promise<never[]>;
    const { query } = Store.prototype as unknown as { readonly query: Query };
    const spy = jest.spyOn(Store.prototype, 'query').mockImplementation(async function (this: Store, ...asked) {
      if (asked[0].startsWith('analyze') && this.databaseUrl === store.databaseUrl) {
        await append(0, 500, orgId);
        await query.call(
          store,
          `update projection_offsets set next_offset = next_offset + 500 where projection = 'feed' and partition = 0`,
        );
      }
      return query.call(this, ...asked);
    });
    try {
      // A thread would fail: its code is not compiled here.
      await rebuild(installation, { ...REQUEST, threads: 2 }, PROGRESS);
    } finally {
      spy.mockRestore();
    }
    expect(await seqsOf(orgId)).toEqual(oneTo(500));
  });

  it('goes on after the marker of a transaction', async () => {
    const orgId = anOrgOf(0);
    await append(0, 3, orgId);
    await writeInTransaction(connection, { topic: topics.log, partition: 0 }, recordsOf(orgId, [4]));
    jest.spyOn(ProjectionShadow.prototype, 'takePlace').mockRejectedValueOnce(new Error('interrupted'));
    const request = { ...REQUEST, fromEmpty: true };
    await expect(rebuild(installation, request, PROGRESS)).rejects.toThrow('interrupted');
    await writer.write(topics.log, 0, recordsOf(orgId, [5, 6]));
    const { foldedBefore } = await rebuild(installation, request, PROGRESS);
    expect(foldedBefore).toBeGreaterThan(0);
    expect(await seqsOf(orgId)).toEqual(oneTo(6));
  });

  it('goes on with the work of its own version alone', () => {
    const part = { store, databaseUrl: databases[0].url, projections: REQUEST.projections, isOwn: () => true };
    expect(JSON.parse(workOf(installation, REQUEST, part))).toMatchObject({ version: VERSION, places: [0, 1] });
  });
});

it('a thread of a rebuild that may open no connection says so', async () => {
  const login = await aDatabaseLogin(databases[0].url, 'gapless_writer', 0);
  const sent: FromFoldThread[] = [];
  const order = { config: installation.config, databaseUrl: login.url, isShadow: true, stretches: [] };
  try {
    await foldInThread({ ...order, rules: { projection: 'feed' } }, (message) => sent.push(message));
  } finally {
    await login.drop();
  }
  expect(sent).toEqual([{ kind: 'failed', reason: expect.stringContaining('too many connections') }]);
});

describe('an assignment of places', () => {
  it('is refused while a process runs that is in no group of Kafka', async () => {
    const api = new PostgresProbe({ databaseUrl: store.databaseUrl, applicationName: LOOKS_AT_FEED_LIST });
    try {
      await api.query('select 1');
      await expect(assignPlaces(installation, REQUEST, PROGRESS)).rejects.toThrow(
        /processes are running \(connection \d+ from [\d.]+:\d+\): stop all of them/,
      );
    } finally {
      api.close();
    }
  });
});

describe('a fold', () => {
  let topic: string;
  let orgId: OrgId;

  beforeEach(async () => {
    topic = `t${randomBytes(4).toString('hex')}`;
    orgId = anOrgId();
    await makeTopics(connection, [{ topic, ...TOPIC }]);
  });

  const write = (seqs: readonly number[]) => writer.write(topic, 0, recordsOf(orgId, seqs));

  const transact = (seqs: readonly number[], end: 'commit' | 'abort') =>
    writeInTransaction(connection, { topic, partition: 0, end }, recordsOf(orgId, seqs));

  /** Returns a function that folds partition 0, from an offset to before another one, or to the end. */
  function aFold() {
    const fold = foldHere(connection, feedTables(store), { projection: 'feed' }, () => undefined);
    return async (from: number, to?: number) => {
      const bounds = await new LogPositions(connection).bounds(topic);
      const end = to ?? bounds.get(0)!.end;
      await fold([{ topic, partition: 0, from, to: end }]);
      return end;
    };
  }

  it('goes on after markers of transactions and aborted records, whether it has read them or another fold has', async () => {
    const fold = aFold();
    await write([1, 2]);
    await transact([3], 'commit');
    await fold(0, 3);
    await write([4]);
    await transact([5], 'commit');
    const end = await fold(3);
    await transact([6], 'abort');
    await write([6]);
    await aFold()(end);
    expect(await seqsOf(orgId)).toEqual(oneTo(6));
  });

  it('fails where records are missing, or are left out', async () => {
    const fold = aFold();
    await write(oneTo(4));
    await fold(0, 2);
    await expect(aFold()(3)).rejects.toThrow(`${topic}/0 has lost the records from 2 to 2`);
    await connection.withAdmin(async (admin) => {
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '3' }] });
    });
    for (const each of [fold, aFold()]) {
      await expect(each(2)).rejects.toThrow(`${topic}/0 has lost the records from 2 to 2`);
    }
    expect(await seqsOf(orgId)).toEqual([1, 2]);
  });

  it('follows the log past markers of transactions while the feed moves', async () => {
    const follower = new FeedFollower(connection, installation.config, topic, store, 1, () => undefined);
    const failure = follower.start(new Map([[0, 0]]));
    const follow = async () => {
      for (const seq of [1, 3, 5]) {
        await write([seq]);
        await transact([seq + 1], 'commit');
        await eventually(async () => {
          expect(await seqsOf(orgId)).toEqual(oneTo(seq + 1));
        });
      }
    };
    try {
      await Promise.race([follow(), failure]);
    } finally {
      await follower.stop();
    }
  });
});
