import { randomBytes } from 'node:crypto';
import type { Producer } from 'kafkajs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { SEQ_NONE, systemClock, type EventId, type OrgId, type Seq } from '#libs/domain';
import {
  InstallationTopic,
  KafkaConnection,
  LogPositions,
  logRecord,
  readLogRecords,
  streamPartitions,
  topicNames,
  type TopicNames,
} from '#libs/kafka-log';
import { FeedAudit, FeedProjection, projectedUpTo, type Store } from '#libs/postgres';
import { createLogger, type Config } from '#libs/runtime';
import { anOrgId } from '../../../../test/support/ids.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/infrastructure/database.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { aStore, migrateTestDatabase } from '../../../../test/support/store.js';
import { makeTopics } from '../../../../test/support/topics.js';
import { writeInTransaction } from '../../../../test/support/write-in-transaction.js';
import { Differences } from './difference.js';
import type { Scope } from './scope.js';
import { verifyFeed } from './verify-feed.js';

const NO_PROGRESS = { begin: () => undefined, advance: () => undefined, end: () => undefined };
const SCOPE = { orgId: null, from: SEQ_NONE, sinceMs: 0, patienceMs: 0 };
const SMALL = Buffer.from('{}');
/** A fetch has room for two of them. */
const LARGE = Buffer.from(`{"text":"${'x'.repeat(3 * 1024 * 1024)}"}`);

let connection: KafkaConnection;
let producer: Producer;
let database: TestDatabase;
let store: Store;
let topics: TopicNames;

beforeAll(async () => {
  connection = new KafkaConnection({
    brokers: process.env['TEST_KAFKA_BROKERS']!.split(','),
    clientId: 'test',
    logger: createLogger('silent', 'test'),
    partitions: 2,
  });
  producer = connection.kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
});

afterAll(async () => {
  await producer.disconnect();
});

beforeEach(async () => {
  topics = topicNames(`t${randomBytes(4).toString('hex')}`, []);
  const plan = { partitions: 2, retentionMs: -1, compacted: false, appendTime: false };
  await makeTopics(connection, [{ topic: topics.log, ...plan }]);
  database = await createTestDatabase(migrateTestDatabase);
  store = aStore(database.url);
  await store.open(() => undefined);
});

afterEach(async () => {
  jest.restoreAllMocks();
  await store.close();
  await database.drop();
});

interface Appended {
  readonly envelope?: Buffer;
  readonly atMs?: number;
  readonly isPutBack?: boolean;
}

function recordOf(orgId: OrgId, seq: number, { envelope = SMALL, isPutBack = false }: Appended = {}) {
  return logRecord(
    {
      orgId,
      seq: seq as Seq,
      id: `evt_${String(seq).padStart(26, '0')}` as EventId,
      event: 'ticket.created',
      widgetId: null,
      targetEndpoint: null,
      traceparent: null,
      envelope,
    },
    { occurredAt: '2026-01-01T00:00:00Z', inboxOffset: seq, inboxTimeMs: systemClock.now(), isPutBack },
  );
}

/** Appends events of an org to a partition of the log, one after the other. */
async function append(partition: number, orgId: OrgId, seqs: readonly number[], appended: Appended = {}) {
  const { atMs = systemClock.now() } = appended;
  for (const seq of seqs) {
    const { value, headers } = recordOf(orgId, seq, appended);
    const timestamp = String(atMs);
    await producer.send({
      topic: topics.log,
      messages: [{ partition, key: orgId, value, headers: { ...headers }, timestamp }],
    });
  }
}

/** Projects what the feed does not have yet. */
async function project(): Promise<void> {
  const projection = new FeedProjection(store);
  const reached = await projectedUpTo(store, 'feed', topics.log);
  const stretches = [0, 1].map((partition) => ({ topic: topics.log, partition, from: reached.get(partition) ?? 0 }));
  // A broker that has just started may still be loading what it knows of groups.
  await eventually(() =>
    streamPartitions(connection, stretches, async ({ topic, partition, records }) => {
      const [firstOffset, nextOffset] = [records[0]!.offset, records.at(-1)!.offset + 1];
      const stretch = { projection: 'feed', topic, partition, firstOffset, nextOffset } as const;
      await projection.apply(stretch, readLogRecords(records));
    }),
  );
}

/** Gives the feed, and not the log, the events of an org: those that the feed has of all orgs. */
async function onlyInFeed(orgId: OrgId): Promise<void> {
  await store.query(
    `with lost as (
       insert into events (org_id, seq, event_id, event_type, widget_id, appended_at, envelope)
       select $1, seq, event_id, event_type, widget_id, appended_at, envelope from events
     ), head as (insert into org_heads (org_id, last_seq) values ($1, 2))
     select 1`,
    [orgId],
  );
}

/** Removes the first records of partition 0, as retention does. */
async function removeBefore(offset: number): Promise<void> {
  await connection.withAdmin(async (admin) => {
    // kafkajs has to know the topic.
    await admin.fetchTopicOffsets(topics.log);
    await admin.deleteTopicRecords({ topic: topics.log, partitions: [{ partition: 0, offset: String(offset) }] });
  });
}

async function verified(scope: Partial<Scope> = {}) {
  const differences = new Differences();
  const installation = { connection, topics, store, config: { partitions: 2 } as Config };
  const verdict = await verifyFeed(installation, { ...SCOPE, ...scope }, differences, NO_PROGRESS);
  return { ...verdict, differences: differences.first };
}

describe('records that retention removes while the log is read', () => {
  const orgId = anOrgId();

  it('are no gap, and what follows them is still checked', async () => {
    await append(0, orgId, [1, 2, 3, 4, 5], { envelope: LARGE });
    await append(0, orgId, [6, 8]);
    await project();
    const compare = jest.spyOn(FeedAudit.prototype, 'mismatches');
    compare.mockImplementationOnce(async function (this: FeedAudit, events) {
      await removeBefore(4);
      return this.mismatches(events);
    });
    const { differences, orgs, compared } = await verified();
    expect(compared).toBeLessThan(7);
    expect(differences).toEqual([{ kind: 'gap', org_id: orgId, expected: 7, seq: 8, place: `${topics.log}/0/6` }]);
    expect(orgs).toMatchObject([{ orgId, firstSeq: 5, lastSeq: 8, gaps: 1, missing: 1 }]);
  });

  it('are no gap before the first record that is read', async () => {
    await append(0, orgId, oneTo(5));
    await project();
    jest.spyOn(LogPositions.prototype, 'bounds').mockImplementationOnce(async function (this: LogPositions, topic) {
      const bounds = await this.bounds(topic);
      await removeBefore(2);
      return bounds;
    });
    const { differences, orgs } = await verified();
    expect(differences).toEqual([]);
    expect(orgs).toMatchObject([{ orgId, firstSeq: 3, lastSeq: 5, gaps: 0 }]);
  });
});

describe('an org without a record in the log that was read', () => {
  const [known, fresh, lost] = [anOrgId(), anOrgId(), anOrgId()];

  /** Runs `act` when the log has been read, and before the feed is looked at for other orgs. */
  function onceRead(act: () => Promise<void>): void {
    jest.spyOn(FeedAudit.prototype, 'orgs').mockImplementationOnce(async function (this: FeedAudit, ...wanted) {
      await act();
      return this.orgs(...wanted);
    });
  }

  it('is new, even if its first event is older than the last one that was read', async () => {
    await append(0, known, [1, 2]);
    await project();
    onceRead(async () => {
      await append(1, fresh, [1], { atMs: systemClock.now() - 60_000 });
      await project();
    });
    expect((await verified()).differences).toEqual([]);
  });

  it('is new, too, in a log that was empty', async () => {
    onceRead(async () => {
      await append(1, fresh, [1]);
      await project();
    });
    expect((await verified()).differences).toEqual([]);
  });

  it('has events that the log lacks, if none came since', async () => {
    await append(0, known, [1, 2]);
    await project();
    await onlyInFeed(lost);
    onceRead(() => append(1, fresh, [1]));
    expect((await verified()).differences).toEqual([{ kind: 'feed_has_more', org_id: lost, rows: 2 }]);
  });

  it('has them, too, if it alone is verified', async () => {
    await append(0, known, [1, 2]);
    await project();
    await onlyInFeed(lost);
    const more = { kind: 'feed_has_more', org_id: lost };
    expect((await verified({ orgId: lost })).differences).toEqual([{ ...more, rows: 2 }]);
    expect((await verified({ orgId: lost, from: 2 as Seq })).differences).toEqual([{ ...more, rows: 1 }]);
    expect((await verified({ orgId: known })).differences).toEqual([]);
    expect((await verified({ orgId: fresh })).differences).toEqual([]);
  });
});

describe('a log that ends before the place of the feed', () => {
  const orgId = anOrgId();

  it('has lost what the feed has read', async () => {
    await append(0, orgId, oneTo(8));
    await project();
    await store.query('update projection_offsets set next_offset = 10 where topic = $1', [topics.log]);
    const ahead = { kind: 'ahead', projection: 'feed', place: `${topics.log}/0/8`, at: 10 };
    expect((await verified()).differences).toEqual([ahead]);
  });

  it('has lost nothing if it has grown since its end was read', async () => {
    await append(0, orgId, oneTo(8));
    jest.spyOn(LogPositions.prototype, 'bounds').mockImplementationOnce(async function (this: LogPositions, topic) {
      const bounds = await this.bounds(topic);
      await append(0, orgId, [9, 10]);
      await project();
      return bounds;
    });
    expect((await verified()).differences).toEqual([]);
  });

  it('has lost nothing if retention has removed all of its records', async () => {
    await append(0, orgId, oneTo(8));
    await project();
    await removeBefore(8);
    await store.query('truncate events');
    expect((await verified()).differences).toEqual([]);
  });
});

describe('a log that ends with the marker of a transaction', () => {
  const orgId = anOrgId();

  it('has nothing that the feed lacks until a record follows', async () => {
    await append(0, orgId, [1, 2]);
    await writeInTransaction(connection, { topic: topics.log, partition: 0 }, [recordOf(orgId, 3)]);
    await project();
    expect((await verified()).differences).toEqual([]);
    await append(0, orgId, [4]);
    const behind = expect.objectContaining({ kind: 'behind', projection: 'feed' });
    expect((await verified()).differences).toEqual([behind]);
  });
});

describe('a new log whose begin a repair has noted as lost', () => {
  it('begins with any event of each org, and has gaps after that', async () => {
    const [org, other] = [anOrgId(), anOrgId()];
    await makeTopics(connection, [
      { topic: topics.installation, partitions: 1, retentionMs: -1, compacted: true, appendTime: false },
    ]);
    await new InstallationTopic(connection, topics.installation).noteLostBegins([`${topics.log}/0`]);
    await append(0, org, [501, 503]);
    await append(1, other, [501]);
    await project();
    const gap = { kind: 'gap', org_id: org, expected: 502, seq: 503, place: `${topics.log}/0/1` };
    const ofOther = { kind: 'gap', org_id: other, expected: 1, seq: 501, place: `${topics.log}/1/0` };
    const { differences } = await verified();
    expect(differences).toHaveLength(2);
    expect(differences).toEqual(expect.arrayContaining([gap, ofOther]));
  });
});

describe('a new log into which a repair has put events back', () => {
  const [old, quiet] = [anOrgId(), anOrgId()];

  it('begins with the first event that was left of each org, and goes on after the head of one that had none left', async () => {
    await append(0, old, [5, 6], { isPutBack: true });
    await append(0, old, [7]);
    await append(0, quiet, [2, 4]);
    await project();
    const { differences, orgs } = await verified();
    expect(differences).toEqual([{ kind: 'gap', org_id: quiet, expected: 3, seq: 4, place: `${topics.log}/0/4` }]);
    expect(orgs).toMatchObject([{ orgId: old, firstSeq: 5, lastSeq: 7, gaps: 0 }, { gaps: 1 }]);
  });
});
