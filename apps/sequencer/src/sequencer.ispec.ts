import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Admin } from 'kafkajs';
import {
  inboxValue,
  PartitionStoppedError,
  systemClock,
  type EventId,
  type OrgId,
  type PartitionStop,
  type Position,
  type Seq,
} from '#libs/domain';
import {
  Appender,
  checkpointRecord,
  KafkaConnection,
  partitionOf,
  PartitionWriter,
  snapshotRecord,
  topicNames,
  topicPlans,
  type ConsumerSession,
  type NewRecord,
  type StoredRecord,
  type TopicNames,
  type TopicPlan,
} from '#libs/kafka-log';
import { createLogger } from '#libs/runtime';
import { NO_TRACING } from '#libs/telemetry';
import { anEventId, anOrgId } from '../../../test/support/ids.js';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { readLog, readTopic } from '../../../test/support/log-reader.js';
import { oneTo } from '../../../test/support/sequence.js';
import { makeTopics } from '../../../test/support/topics.js';
import { CheckedContinuity, type LogContinuity } from './log-continuity.js';
import { LeaseLostError, Sequencer } from './sequencer.js';

const brokers = process.env['TEST_KAFKA_BROKERS']!;
const logger = createLogger('silent', 'test');
/** How many connections to the brokers broke. */
let interruptions = 0;
const connection = new KafkaConnection({
  brokers: brokers.split(','),
  clientId: 'test',
  logger,
  interruptions: () => interruptions,
});
/** When the inbox records were appended. */
const RECEIVED_AT_MS = Date.parse('2026-03-02T09:12:44.000Z');

/** A writer whose next write fails in the way that the test sets. */
class FaultyWriter extends PartitionWriter {
  fault: 'lost' | 'answer lost' | null = null;
  /** A topic that takes no records. */
  refusing: string | null = null;

  override async write(...call: Parameters<PartitionWriter['write']>): Promise<number> {
    if (call[0] === this.refusing) throw new Error('the time of the records is not accepted');
    const { fault } = this;
    this.fault = null;
    if (fault === 'lost') throw new Error('the request was lost');
    const offset = await super.write(...call);
    if (fault === 'answer lost') throw new Error('the answer was lost');
    return offset;
  }
}

/** An appender whose next append fails when the test sets it to. */
class FaultyAppender extends Appender {
  isFaulty = false;

  override async append(records: readonly NewRecord[]): Promise<void> {
    if (this.isFaulty && records.length > 0) {
      this.isFaulty = false;
      throw new Error('the brokers are away');
    }
    await super.append(records);
  }
}

let writer: FaultyWriter;
let appender: FaultyAppender;
let prefix: string;
let topics: TopicNames;
let sequencer: Sequencer;
let orgId: OrgId;
let inboxEnd: number;

beforeAll(async () => {
  writer = new FaultyWriter(connection);
  appender = new FaultyAppender(connection, { retries: 3 });
  await appender.connect();
});

afterAll(async () => {
  await Promise.all([appender.close(), writer.close()]);
});

beforeEach(async () => {
  prefix = `t${randomBytes(4).toString('hex')}`;
  topics = topicNames(prefix, [1_000]);
  await makeTopics(connection, plans());
  sequencer = aSequencer();
  orgId = anOrgId();
  inboxEnd = 0;
});

function plans(): readonly TopicPlan[] {
  return topicPlans(topics, { partitions: 1, retentionMs: 86_400_000, retrySchedule: [1_000] });
}

function planOfLog(): TopicPlan {
  return plans().find(({ topic }) => topic === topics.log)!;
}

/** These records are in no inbox. */
const NO_CONTINUITY: LogContinuity = {
  check: () => Promise.resolve(new Map()),
  reached: () => undefined,
  keeps: () => undefined,
  divide: (partitions) => [partitions],
  ask: () => Promise.resolve(),
};

/** One that knows nothing yet, as after a start. */
function aSequencer(readBackRecords?: number, over = connection, continuity = NO_CONTINUITY): Sequencer {
  const use = {
    connection: over,
    topics,
    writer,
    appender,
    clock: systemClock,
    logger,
    tracing: NO_TRACING,
    continuity,
  };
  return new Sequencer(readBackRecords === undefined ? use : { ...use, readBackRecords });
}

/** Compares with a Postgres that has no positions, unless the test gives others. Each partition has its own database. */
function aContinuity(
  projected: (partitions: readonly number[]) => Promise<ReadonlyMap<number, Position>> = () =>
    Promise.resolve(new Map()),
): LogContinuity {
  const byDatabase = (partitions: readonly number[]) => partitions.map((partition) => [partition]);
  return new CheckedContinuity({ connection, topics, projected, byDatabase });
}

function aSession(generation = 1, holdsLease: () => boolean = () => true): ConsumerSession {
  return { generation, assigned: { [topics.inbox]: [0] }, holdsLease };
}

function aRecord(value: Buffer, key: string = orgId, headers: Record<string, string> = {}): StoredRecord {
  const record = { topic: topics.inbox, partition: 0, key: Buffer.from(key), value, headers };
  return { ...record, offset: inboxEnd++, timestampMs: RECEIVED_AT_MS };
}

function eventRecord(id: EventId = anEventId(), org: OrgId = orgId): StoredRecord {
  const event = { id, event: 'ticket.created', occurredAt: '2026-03-02T09:00:00.000Z', orgId: org, widgetId: null };
  return aRecord(inboxValue({ ...event, dataJson: '{"n": 1.0}' }), org);
}

/** The record as it comes that much later, checked by its producer up to a log offset. */
function later(record: StoredRecord, laterMs: number, checkedTo?: number | string): StoredRecord {
  const headers = checkedTo === undefined ? record.headers : { ...record.headers, 'checked-to': String(checkedTo) };
  return { ...record, headers, timestampMs: record.timestampMs + laterMs };
}

async function logOf(org: OrgId = orgId) {
  return (await readLog(brokers, prefix)).get(org) ?? [];
}

/** Removes what the log holds, as retention does. */
async function pruneLog(): Promise<void> {
  await connection.withAdmin(async (admin) => {
    const [end] = await admin.fetchTopicOffsets(topics.log);
    await admin.deleteTopicRecords({ topic: topics.log, partitions: [{ partition: 0, offset: end!.high }] });
  });
}

/** Has the log begin again, without what it held. */
async function recreateLog(): Promise<void> {
  await connection.withAdmin(async (admin) => {
    await admin.deleteTopics({ topics: [topics.log] });
    // Until the broker has heard of it, the topic looks as if it did not have to be made.
    await eventually(async () => {
      expect(await admin.listTopics()).not.toContain(topics.log);
    });
  });
  await eventually(() => makeTopics(connection, [planOfLog()]));
}

async function expectLog(count: number): Promise<void> {
  const events = await logOf();
  expect(events.map(({ seq }) => seq)).toEqual(oneTo(count));
  expect(new Set(events.map(({ id }) => id)).size).toBe(count);
}

describe('a sequencer that has lost a partition', () => {
  it.each(['held', 'discarded after a write that failed'])(
    'compares it with Postgres again once it comes back (its state was %s)',
    async (state) => {
      let asked = 0;
      const projected = () => {
        asked++;
        return Promise.resolve(new Map<number, Position>());
      };
      const one = aSequencer(undefined, connection, aContinuity(projected));
      await one.restoreAssigned(aSession(1));
      const before = asked;
      await one.restoreAssigned(aSession(2));
      expect(asked).toBe(before);
      if (state !== 'held') {
        writer.fault = 'lost';
        await expect(one.sequence(0, [eventRecord()], aSession(2))).rejects.toThrow('the request was lost');
      }
      await one.restoreAssigned({ ...aSession(3), assigned: {} });
      await one.restoreAssigned(aSession(4));
      expect(asked).toBeGreaterThan(before);
    },
  );
});

describe('a sequencer that gains partitions while Postgres is away', () => {
  it('reads neither checkpoints nor log until Postgres is back', async () => {
    await sequencer.sequence(0, [eventRecord()], aSession());
    await sequencer.checkpointAll(aSession());
    await sequencer.sequence(0, [eventRecord()], aSession());
    const consumers = jest.spyOn(connection.kafka, 'consumer');
    const away = aSequencer(
      undefined,
      connection,
      aContinuity(() => Promise.reject(new Error('Postgres is away'))),
    );
    for (let times = 0; times < 2; times++) {
      await expect(away.restoreAssigned(aSession())).rejects.toThrow('Postgres is away');
    }
    await expect(away.sequence(0, [eventRecord()], aSession())).rejects.toThrow('Postgres is away');
    expect(consumers).not.toHaveBeenCalled();
    consumers.mockRestore();
  });

  it('restores those whose feed database answers, and says what the others wait for', async () => {
    topics = topicNames(`${prefix}two`, [1_000]);
    await makeTopics(
      connection,
      topicPlans(topics, { partitions: 2, retentionMs: 86_400_000, retrySchedule: [1_000] }),
    );
    const projected = (partitions: readonly number[]) =>
      partitions.includes(1)
        ? Promise.reject(new Error('feed database b takes no connections'))
        : Promise.resolve(new Map<number, Position>());
    const one = aSequencer(undefined, connection, aContinuity(projected));
    const session = { ...aSession(), assigned: { [topics.inbox]: [0, 1] } };
    const records = [eventRecord()];
    await writer.write(topics.inbox, 0, records);
    // A new broker may still load its groups.
    await eventually(() => aSequencer().sequence(0, records, session));
    await eventually(async () => {
      await expect(one.restoreAssigned(session)).rejects.toThrow('feed database b takes no connections');
    });
    const consumers = jest.spyOn(connection.kafka, 'consumer');
    await one.sequence(0, [eventRecord()], session);
    expect(consumers).not.toHaveBeenCalled();
    consumers.mockRestore();
    expect(await readTopic(brokers, topics.log)).toHaveLength(2);
  });
});

describe('a record of the log', () => {
  it('is the envelope, with seq and CloudEvents headers, keyed by its org', async () => {
    const id = anEventId();
    const record = eventRecord(id);
    await sequencer.sequence(
      0,
      [{ ...record, headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' } }],
      aSession(),
    );
    const [stored] = await readTopic(brokers, topics.log);
    expect(stored).toMatchObject({ partition: 0, offset: 0, key: orgId });
    expect(stored!.headers).toEqual({
      seq: '1',
      'content-type': 'application/json',
      ce_specversion: '1.0',
      ce_id: id,
      ce_type: 'ticket.created',
      ce_source: `/orgs/${orgId}`,
      ce_time: '2026-03-02T09:00:00.000Z',
      'inbox-offset': '0',
      'inbox-time': String(RECEIVED_AT_MS),
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    });
    expect(stored!.value.toString()).toBe(
      `{"id":"${id}","seq":1,"event":"ticket.created","occurred_at":"2026-03-02T09:00:00.000Z",` +
        `"timestamp":"2026-03-02T09:00:00.000Z","org_id":"${orgId}","widget_id":null,"data":{"n": 1.0}}`,
    );
  });

  it('takes the time of the inbox record if the event has none of its own', async () => {
    const id = anEventId();
    const value = Buffer.from(`{"id":"${id}","event":"ticket.created","org_id":"${orgId}","data":{}}`);
    await sequencer.sequence(0, [aRecord(value)], aSession());
    const [event] = await logOf();
    expect(JSON.parse(event!.envelope)).toMatchObject({ occurred_at: '2026-03-02T09:12:44.000Z' });
  });
});

describe('the seqs of an org', () => {
  it('count its own events, whatever the order of the orgs in the inbox', async () => {
    const others = [anOrgId(), anOrgId()];
    const records = oneTo(30).map((n) => eventRecord(anEventId(), [orgId, ...others][n % 3]));
    await sequencer.sequence(0, records, aSession());
    for (const org of [orgId, ...others]) expect((await logOf(org)).map(({ seq }) => seq)).toEqual(oneTo(10));
  });

  it('go on in the next stretch, and a stretch that comes again changes nothing', async () => {
    const [first, second] = [oneTo(5).map(() => eventRecord()), oneTo(5).map(() => eventRecord())];
    await sequencer.sequence(0, first, aSession());
    await sequencer.sequence(0, first, aSession());
    await sequencer.sequence(0, [...first.slice(3), ...second], aSession());
    await expectLog(10);
    expect(await readTopic(brokers, topics.log)).toHaveLength(10);
  });

  it('skip ids that the org has already, in the same stretch or in an earlier one', async () => {
    const [a, b] = [anEventId(), anEventId()];
    await sequencer.sequence(0, [eventRecord(a), eventRecord(b), eventRecord(a)], aSession());
    await sequencer.sequence(0, [eventRecord(b), eventRecord(), eventRecord(a)], aSession());
    await expectLog(3);
  });

  it('go on from the end of the log after a restart', async () => {
    const first = oneTo(5).map(() => eventRecord());
    await sequencer.sequence(0, first, aSession());
    const restarted = aSequencer();
    await restarted.sequence(0, [...first, eventRecord(), eventRecord()], aSession());
    await expectLog(7);
    expect(await readTopic(brokers, topics.log)).toHaveLength(7);
  });

  it('go on from the end of the log with a new assignment, whatever another member did meanwhile', async () => {
    await sequencer.sequence(0, [eventRecord()], aSession(1));
    const meanwhile = oneTo(3).map(() => eventRecord());
    await aSequencer().sequence(0, meanwhile, aSession(1));
    await sequencer.sequence(0, [...meanwhile, eventRecord()], aSession(2));
    await expectLog(5);
    expect(await readTopic(brokers, topics.log)).toHaveLength(5);
  });
});

describe('an id that comes again', () => {
  const HOUR_MS = 3_600_000;
  const MINUTE_MS = 60_000;

  it('is recognised for 15 minutes at least, after however many others', async () => {
    const id = anEventId();
    await sequencer.sequence(0, [eventRecord(id), ...oneTo(1_200).map(() => eventRecord())], aSession());
    await sequencer.sequence(0, [later(eventRecord(id), 15 * MINUTE_MS)], aSession());
    await sequencer.checkpointAll(aSession());
    await aSequencer().sequence(0, [later(eventRecord(id), 15 * MINUTE_MS)], aSession());
    await expectLog(1_201);
  });

  it('is recognised by a sequencer that restarts from a checkpoint, or from one of an earlier version', async () => {
    const id = anEventId();
    await sequencer.sequence(0, [eventRecord(id), eventRecord()], aSession());
    const [key, value] = ['checkpoint', Buffer.from('{"log_offset":2,"inbox_offset":2}')];
    const snapshot = { key: orgId, value: Buffer.from('{"last_seq":"2","recent_ids":[]}') };
    await writer.write(topics.sequences, 0, [snapshot, { key, value }]);
    await aSequencer().sequence(0, [eventRecord(id), eventRecord()], aSession());
    await expectLog(3);
  });

  it('much later is looked for in the log from where its producer has looked it up', async () => {
    const [a, b] = [anEventId(), anEventId()];
    await sequencer.sequence(0, [eventRecord(a), eventRecord(), eventRecord(b)], aSession());
    await sequencer.sequence(0, [later(eventRecord(b), HOUR_MS, 1), later(eventRecord(a), HOUR_MS, 0)], aSession());
    await expectLog(3);
    // Without a stamp only the window is asked.
    await sequencer.sequence(0, [later(eventRecord(a), HOUR_MS)], aSession());
    expect((await logOf()).map(({ seq }) => seq)).toEqual(oneTo(4));
  });

  it('is decided alike in one stretch and one by one', async () => {
    const ids = oneTo(4).map(() => anEventId());
    const records = [
      ...ids.map((id) => eventRecord(id)),
      later(eventRecord(ids[0]), HOUR_MS, 0),
      later(eventRecord(ids[1]), HOUR_MS, 2),
      later(eventRecord(ids[2]), HOUR_MS),
      later(eventRecord(ids[3]), HOUR_MS, 3),
    ];
    await sequencer.sequence(0, records, aSession());
    const whole = (await logOf()).map(({ id }) => id);
    expect(whole).toEqual([...ids, ids[1], ids[2]]);
    const other = topics;
    topics = topicNames(`${prefix}b`, [1_000]);
    const settings = { partitions: 1, retentionMs: 86_400_000, retrySchedule: [1_000] };
    await makeTopics(connection, topicPlans(topics, settings));
    for (const record of records) await aSequencer().sequence(0, [record], aSession());
    const bytes = async (names: TopicNames) =>
      (await readTopic(brokers, names.log)).map(({ value, headers }) => [value.toString(), headers]);
    expect(await bytes(topics)).toEqual(await bytes(other));
  });

  it.each(['-1', 'soon', '1e3', '99999999999999999999', '999999', ''])(
    'with the stamp %p, which is no place before the window, is for the window alone',
    async (stamp) => {
      const id = anEventId();
      await sequencer.sequence(0, [eventRecord(id)], aSession());
      const consumers = jest.spyOn(connection.kafka, 'consumer');
      await sequencer.sequence(0, [later(eventRecord(id), MINUTE_MS, stamp)], aSession());
      await sequencer.sequence(0, [later(eventRecord(), HOUR_MS, stamp)], aSession());
      expect(consumers).not.toHaveBeenCalled();
      consumers.mockRestore();
      await expectLog(2);
    },
  );

  it('with a stamp of long ago has the log read once, and none of it where the stamp cannot be the api’s', async () => {
    const ids = oneTo(50).map(() => anEventId());
    await sequencer.sequence(
      0,
      ids.map((id) => eventRecord(id)),
      aSession(),
    );
    const restarted = aSequencer(20);
    await restarted.restoreAssigned(aSession());
    const consumers = jest.spyOn(connection.kafka, 'consumer');
    for (const id of ids.slice(-10)) await restarted.sequence(0, [later(eventRecord(id), HOUR_MS, 35)], aSession());
    expect(consumers).toHaveBeenCalledTimes(1);
    for (const id of oneTo(10).map(() => anEventId())) {
      await restarted.sequence(0, [later(eventRecord(id), HOUR_MS, 0)], aSession());
    }
    expect(consumers).toHaveBeenCalledTimes(1);
    consumers.mockRestore();
    await expectLog(60);
    expect((await connection.metrics.scrape()).text).toMatch(/gapless_sequencer_old_stamps_total\b.* 10\n/);
  });
});

type TopicOffsets = Awaited<ReturnType<Admin['fetchTopicOffsets']>>;

/** As kafkajs returns a partition without a leader. */
function leaderless(partition: number): TopicOffsets[number] {
  return { partition } as TopicOffsets[number];
}

/** A connection that finds other offsets of topics than the brokers return. */
function aConnectionThatFinds(found: (topic: string, offsets: TopicOffsets) => TopicOffsets): KafkaConnection {
  const over = new KafkaConnection({ brokers: brokers.split(','), clientId: 'test', logger });
  const withAdmin = over.withAdmin.bind(over);
  jest.spyOn(over, 'withAdmin').mockImplementation((act) =>
    withAdmin((admin) => {
      const fetchTopicOffsets = async (topic: string) => found(topic, await admin.fetchTopicOffsets(topic));
      return act(Object.assign(Object.create(admin) as Admin, { fetchTopicOffsets }));
    }),
  );
  return over;
}

describe('a new assignment', () => {
  it('restores only partitions that were gained: what this sequencer kept, and nobody wrote, is not read again', async () => {
    await sequencer.sequence(0, [eventRecord()], aSession(1));
    const consumers = jest.spyOn(connection.kafka, 'consumer');
    await sequencer.restoreAssigned(aSession(2));
    await sequencer.sequence(0, [eventRecord()], aSession(2));
    expect(consumers).not.toHaveBeenCalled();
    consumers.mockRestore();
    await expectLog(2);
    const stranger = aSequencer();
    const records = [eventRecord()];
    await stranger.sequence(0, records, aSession(1));
    await sequencer.restoreAssigned(aSession(3));
    await sequencer.sequence(0, [...records, eventRecord()], aSession(3));
    await expectLog(4);
    expect(await readTopic(brokers, topics.log)).toHaveLength(4);
  });

  it('restores the other partitions while one has no leader', async () => {
    await sequencer.sequence(0, [eventRecord()], aSession());
    const over = aConnectionThatFinds((_topic, offsets) => [...offsets, leaderless(1)]);
    const restarted = aSequencer(undefined, over);
    await restarted.restoreAssigned({ ...aSession(), assigned: { [topics.inbox]: [0, 1] } });
    const consumers = jest.spyOn(over.kafka, 'consumer');
    await restarted.sequence(0, [eventRecord()], aSession());
    expect(consumers).not.toHaveBeenCalled();
    await expectLog(2);
  });

  it('reads no checkpoint of a partition while its log has no leader', async () => {
    await sequencer.sequence(0, [eventRecord()], aSession());
    await sequencer.checkpointAll(aSession());
    const over = aConnectionThatFinds((topic, offsets) => (topic === topics.log ? [leaderless(0)] : offsets));
    const consumers = jest.spyOn(over.kafka, 'consumer');
    const restarted = aSequencer(undefined, over);
    const sequencing = restarted.sequence(0, [eventRecord()], aSession());
    await expect(sequencing).rejects.toThrow(`${topics.log}/0 has no leader`);
    expect(consumers).not.toHaveBeenCalled();
  });

  it('restores a partition that was lost in between', async () => {
    await sequencer.sequence(0, [eventRecord()], aSession(1));
    await sequencer.restoreAssigned({ ...aSession(2), assigned: {} });
    const records = [eventRecord()];
    await aSequencer().sequence(0, records, aSession(1));
    await sequencer.sequence(0, [...records, eventRecord()], aSession(3));
    await expectLog(3);
    expect(await readTopic(brokers, topics.log)).toHaveLength(3);
  });
});

describe('a checkpoint that is lost while the log is pruned', () => {
  it('stops its partition with both offsets and what to run, never begins again at 1, and leaves the others alone', async () => {
    topics = topicNames(`${prefix}two`, [1_000]);
    await makeTopics(
      connection,
      topicPlans(topics, { partitions: 2, retentionMs: 86_400_000, retrySchedule: [1_000] }),
    );
    const session = { ...aSession(), assigned: { [topics.inbox]: [0, 1] } };
    await aSequencer().sequence(
      0,
      oneTo(6).map(() => eventRecord()),
      session,
    );
    await connection.withAdmin(async (admin) => {
      await admin.fetchTopicOffsets(topics.log);
      await admin.deleteTopicRecords({ topic: topics.log, partitions: [{ partition: 0, offset: '6' }] });
    });
    const restarted = aSequencer();
    await restarted.restoreAssigned(session);
    const error: unknown = await restarted.sequence(0, [eventRecord()], session).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(PartitionStoppedError);
    expect((error as PartitionStoppedError).stop).toMatchObject({
      code: 'sequences_behind_log',
      topic: topics.sequences,
      partition: 0,
      expectedOffset: 6,
      foundOffset: 0,
      command: 'npm run -s gapless -- repair',
    });
    expect((error as Error).message).toMatch(/Expected offset 6, found 0\. Run `npm run -s gapless -- repair`/);
    await restarted.sequence(1, [{ ...eventRecord(), partition: 1 }], session);
    expect(await readTopic(brokers, topics.log)).toHaveLength(1);
    // What a repair writes: the seqs of the orgs, and where the log begins.
    const repaired = [
      snapshotRecord(orgId, 6 as Seq),
      checkpointRecord({ logOffset: 6, inboxOffset: 6, clockMs: null }),
    ];
    await writer.write(topics.sequences, 0, repaired);
    await restarted.sequence(0, [eventRecord()], session);
    const seqs = (await readTopic(brokers, topics.log)).map(({ headers }) => headers['seq']);
    expect(seqs.sort()).toEqual(['1', '7']);
  });
});

describe('a write that is not certain', () => {
  it.each(['lost', 'answer lost'] as const)(
    'leaves neither gap nor repeat when it is made again (%s)',
    async (fault) => {
      await sequencer.sequence(0, [eventRecord()], aSession());
      const records = oneTo(3).map(() => eventRecord());
      writer.fault = fault;
      await expect(sequencer.sequence(0, records, aSession())).rejects.toThrow();
      await sequencer.sequence(0, records, aSession());
      await sequencer.sequence(0, [eventRecord()], aSession());
      await expectLog(5);
      expect(await readTopic(brokers, topics.log)).toHaveLength(5);
    },
  );

  it('waits for a lease that is late, and throws nothing away that was restored', async () => {
    let looks = 0;
    const session = aSession(1, () => ++looks > 3);
    const one = aSequencer();
    const restores = jest.spyOn(logger, 'info');
    await one.sequence(0, [eventRecord()], session);
    await expectLog(1);
    expect(restores.mock.calls.filter(([, message]) => message === 'sequencer.restored')).toHaveLength(1);
    expect(looks).toBeGreaterThan(3);
    restores.mockRestore();
  });

  it('is not made without a lease', async () => {
    let holdsLease = true;
    const session = aSession(1, () => holdsLease);
    await sequencer.sequence(0, [eventRecord()], session);
    holdsLease = false;
    const record = eventRecord();
    await expect(sequencer.sequence(0, [record], session)).rejects.toThrow(LeaseLostError);
    await sequencer.checkpointAll(session).catch(() => undefined);
    expect(await readTopic(brokers, topics.log)).toHaveLength(1);
    expect(await readTopic(brokers, topics.sequences)).toHaveLength(0);
    holdsLease = true;
    await sequencer.sequence(0, [record], session);
    await expectLog(2);
  });
});

describe('two sequencers that both write, since one was frozen between its lease check and its write', () => {
  it('write the same bytes, and the log read by the rule has neither gap nor repeat', async () => {
    const [frozen, successor] = [sequencer, aSequencer()];
    const records = oneTo(20).map((n) => eventRecord(undefined, n % 4 === 0 ? anOrgId() : orgId));
    await Promise.all([frozen.restoreAssigned(aSession()), successor.restoreAssigned(aSession())]);
    await successor.sequence(0, records.slice(0, 10), aSession());
    await frozen.sequence(0, records.slice(0, 15), aSession());
    await successor.sequence(0, records.slice(10), aSession());
    await expectLog(15);
    const stored = await readTopic(brokers, topics.log);
    const events = new Map<string, unknown>();
    for (const { key, value, headers } of stored) {
      const same = { value: value.toString(), headers };
      const name = `${key}/${headers['seq']!}`;
      expect(events.get(name) ?? same).toEqual(same);
      events.set(name, same);
    }
    expect(stored.length).toBeGreaterThan(20);
    expect(events.size).toBe(20);
    await aSequencer().sequence(0, [...records, eventRecord()], aSession(2));
    await expectLog(16);
  });
});

describe('a log whose brokers were away', () => {
  it('gets nothing from a sequencer that was replaced meanwhile', async () => {
    await sequencer.sequence(0, [eventRecord()], aSession());
    const records = [eventRecord()];
    await aSequencer().sequence(0, records, aSession());
    interruptions++;
    await expect(sequencer.sequence(0, records, aSession())).rejects.toThrow(LeaseLostError);
    await sequencer.sequence(0, [...records, eventRecord()], aSession());
    await expectLog(3);
    expect(await readTopic(brokers, topics.log)).toHaveLength(3);
  });

  it('is looked at once, if it is as it was', async () => {
    await sequencer.sequence(0, [eventRecord()], aSession());
    interruptions++;
    await sequencer.sequence(0, [eventRecord()], aSession());
    const admins = jest.spyOn(connection.kafka, 'admin');
    await sequencer.sequence(0, [eventRecord()], aSession());
    expect(admins).not.toHaveBeenCalled();
    admins.mockRestore();
    await expectLog(3);
  });

  it.each([
    ['gets nothing once it has lost records', 1, 0],
    ['that has lost records stops its partition also if no broken connection showed it', 0, 1],
  ])('%s', async (_fact, broken, written) => {
    await sequencer.sequence(0, [eventRecord(), eventRecord()], aSession());
    await recreateLog();
    interruptions += broken;
    await expect(sequencer.sequence(0, [eventRecord()], aSession())).rejects.toThrow(PartitionStoppedError);
    expect(await readTopic(brokers, topics.log)).toHaveLength(written);
  });

  it('stays stopped, also once it ends beyond where it ended before', async () => {
    const records = oneTo(7).map(() => eventRecord());
    await writer.write(topics.inbox, 0, records);
    const one = aSequencer(undefined, connection, aContinuity());
    await one.sequence(0, records.slice(0, 2), aSession());
    await recreateLog();
    for (let times = 0; times < 2; times++) {
      await expect(one.sequence(0, records.slice(2), aSession())).rejects.toThrow(PartitionStoppedError);
      expect(await readTopic(brokers, topics.log)).toHaveLength(5);
    }
  });
});

describe('a partition that went back', () => {
  const stop: PartitionStop = {
    code: 'went_back',
    topic: 'inbox',
    partition: 0,
    expectedOffset: 9,
    foundOffset: 3,
    reason: 'The partition went back.',
    command: 'repair',
  };

  it.each(['before its first event', 'after a new assignment'])(
    'gets nothing until it fits again, and says so (%s)',
    async (when) => {
      let found = new Map<number, PartitionStoppedError>();
      const check = () => Promise.resolve(found);
      const one = aSequencer(undefined, connection, { ...NO_CONTINUITY, check });
      const told: (PartitionStop | null)[] = [];
      const stopped = (_topic: string, _partition: number, of: PartitionStop | null) => told.push(of);
      const isFirst = when === 'before its first event';
      if (!isFirst) await one.sequence(0, [eventRecord()], aSession(1));
      found = new Map([[0, new PartitionStoppedError(stop)]]);
      const session = { ...aSession(2), stopped };
      await one.restoreAssigned(session);
      const record = eventRecord();
      await expect(one.sequence(0, [record], session)).rejects.toThrow(PartitionStoppedError);
      await one.checkpointAll(session);
      await expectLog(isFirst ? 0 : 1);
      expect(await readTopic(brokers, topics.sequences)).toHaveLength(0);
      found = new Map();
      await one.sequence(0, [record], session);
      await expectLog(isFirst ? 1 : 2);
      expect(told).toEqual([stop, stop, null]);
    },
  );
});

describe('an event in a partition that is not its own', () => {
  function inInstallationOf(partitions: number): Sequencer {
    const settings = { brokers: brokers.split(','), clientId: 'test', logger, partitions };
    return aSequencer(undefined, new KafkaConnection(settings));
  }

  async function expectMisplaced(): Promise<void> {
    const letters = await readTopic(brokers, topics.deadLetter);
    expect(letters.map(({ headers }) => headers['x-error-code'])).toEqual(['wrong_partition']);
    await expectLog(0);
  }

  it('is a dead letter if the installation has no such partition', async () => {
    await inInstallationOf(1).sequence(1, [{ ...eventRecord(), partition: 1 }], aSession());
    await expectMisplaced();
  });

  it('is a dead letter if another partition is that of its key', async () => {
    while (partitionOf(orgId, 2) === 0) orgId = anOrgId();
    await inInstallationOf(2).sequence(0, [eventRecord()], aSession());
    await expectMisplaced();
  });
});

it('batches and checkpoints of a partition at the same time have neither gap nor repeat', async () => {
  const batches = oneTo(4).map(() => [eventRecord(), eventRecord()]);
  const session = aSession();
  await Promise.all(
    batches.flatMap((records) => [sequencer.sequence(0, records, session), sequencer.checkpointAll(session)]),
  );
  await expectLog(8);
  expect(await readTopic(brokers, topics.log)).toHaveLength(8);
  await aSequencer().sequence(0, [...batches.flat(), eventRecord()], session);
  await expectLog(9);
});

describe('a checkpoint', () => {
  it('keeps the seqs and the known ids of orgs whose events retention has removed', async () => {
    const ids = oneTo(5).map(() => anEventId());
    const first = ids.map((id) => eventRecord(id));
    await sequencer.sequence(0, first, aSession());
    await sequencer.checkpointAll(aSession());
    await pruneLog();
    const restarted = aSequencer();
    await restarted.sequence(0, [...first, eventRecord(ids[2]), eventRecord(ids[4]), eventRecord()], aSession());
    expect((await logOf()).map(({ seq }) => seq)).toEqual([6]);
  });

  it('is restored although others wrote to its topic', async () => {
    const foreign = [
      { key: 'note', value: Buffer.from('garbage') },
      { key: 'x', value: Buffer.alloc(3) },
      { key: 'note', value: null },
    ];
    await sequencer.sequence(0, [eventRecord(), eventRecord()], aSession());
    await sequencer.checkpointAll(aSession());
    await writer.write(topics.sequences, 0, foreign);
    await pruneLog();
    await aSequencer().sequence(0, [eventRecord()], aSession());
    expect((await logOf()).map(({ seq }) => seq)).toEqual([3]);
  });

  it('is completed by the later records of the log', async () => {
    await sequencer.sequence(0, [eventRecord(), eventRecord()], aSession());
    await sequencer.checkpointAll(aSession());
    await pruneLog();
    const behind = [eventRecord(), eventRecord()];
    await sequencer.sequence(0, behind, aSession());
    await aSequencer().sequence(0, [...behind, eventRecord()], aSession());
    expect((await logOf()).map(({ seq }) => seq)).toEqual([3, 4, 5]);
  });

  it('of a sequencer that was frozen does not set back a newer one', async () => {
    const frozen = sequencer;
    const records = oneTo(3).map(() => eventRecord());
    await frozen.sequence(0, records, aSession());
    const successor = aSequencer();
    const more = oneTo(3).map(() => eventRecord());
    await successor.sequence(0, [...records, ...more], aSession());
    await successor.checkpointAll(aSession());
    await frozen.checkpointAll(aSession());
    await pruneLog();
    await aSequencer().sequence(0, [...records, ...more, eventRecord()], aSession());
    expect((await logOf()).map(({ seq }) => seq)).toEqual([7]);
  });

  it.each([
    ['by the one after it', (successor: Sequencer) => successor, [1, 1]],
    ['by one that starts later', () => aSequencer(), [1, 1]],
    ['by the one after it, without another event', (successor: Sequencer) => successor, [1, 0]],
    ['by one that starts later, without an event', () => aSequencer(), [0]],
  ])(
    'of a sequencer that was frozen is overwritten %s, so that compaction keeps the newest state',
    async (_by, next, events) => {
      const frozen = sequencer;
      const silentOrg = anOrgId();
      const begin = [eventRecord(), eventRecord(undefined, silentOrg)];
      await frozen.sequence(0, begin, aSession());
      const successor = aSequencer();
      await successor.sequence(0, [...begin, eventRecord(undefined, silentOrg)], aSession());
      await successor.checkpointAll(aSession());
      await frozen.checkpointAll(aSession());
      const writer = next(successor);
      await writer.restoreAssigned(aSession());
      for (const count of events) {
        await writer.sequence(
          0,
          oneTo(count).map(() => eventRecord()),
          aSession(),
        );
        await writer.checkpointAll(aSession());
      }
      const kept = new Map(
        (await readTopic(brokers, topics.sequences)).map(({ key, value }) => [key, value.toString()]),
      );
      const lastSeq = 1 + events.reduce((sum, count) => sum + count, 0);
      expect(JSON.parse(kept.get(orgId)!)).toMatchObject({ last_seq: String(lastSeq) });
      expect(JSON.parse(kept.get(silentOrg)!)).toMatchObject({ last_seq: '2' });
    },
  );

  it('stands for the orgs of many stretches, and is made by itself when many events have come', async () => {
    const records = oneTo(5_001).map((n) => eventRecord(undefined, n % 2 === 0 ? orgId : anOrgId()));
    await sequencer.sequence(0, records, aSession());
    expect((await readTopic(brokers, topics.sequences)).length).toBeGreaterThan(2_500);
    await pruneLog();
    await aSequencer().sequence(0, [...records, eventRecord()], aSession());
    expect((await logOf()).map(({ seq }) => seq)).toEqual([2_501]);
  });
});

describe('a checkpoint that Kafka does not accept', () => {
  it('fails no batch, and is made again later, complete', async () => {
    writer.refusing = topics.sequences;
    const ids = oneTo(5_000).map(() => anEventId());
    await sequencer.sequence(
      0,
      ids.map((id) => eventRecord(id)),
      aSession(),
    );
    await sequencer.sequence(0, [eventRecord()], aSession());
    await sequencer.checkpointAll(aSession());
    await expectLog(5_001);
    expect((await connection.metrics.scrape()).text).toMatch(/gapless_sequencer_checkpoint_failures_total\b.* 2\n/);
    writer.refusing = null;
    await sequencer.checkpointAll(aSession());
    await pruneLog();
    await aSequencer().sequence(0, [eventRecord(ids[0]), eventRecord(ids[4_999]), eventRecord()], aSession());
    expect((await logOf()).map(({ seq }) => seq)).toEqual([5_002]);
  });
});

describe('an inbox whose committed offset is ahead of the log', () => {
  it('is read again from where the log ends, once in each assignment', async () => {
    const records = oneTo(4).map(() => eventRecord());
    await writer.write(topics.inbox, 0, records);
    const [first, second, third, fourth] = records;
    await sequencer.sequence(0, [first!], aSession());
    const restarted = aSequencer();
    expect(await restarted.sequence(0, [fourth!], aSession())).toBe(1);
    expect(await restarted.sequence(0, [second!, third!, fourth!], aSession())).toBeUndefined();
    await expectLog(4);
  });

  it('is not read again for repeats and dead letters after the last event, while the sequencer keeps its partition', async () => {
    const inboxEnds: number[] = [];
    const check: LogContinuity['check'] = (restored) => {
      inboxEnds.push(...restored.map(({ inboxOffset }) => inboxOffset));
      return Promise.resolve(new Map());
    };
    const one = aSequencer(undefined, connection, { ...NO_CONTINUITY, check });
    const event = eventRecord();
    const later = [aRecord(Buffer.from('{')), { ...event, offset: inboxEnd++ }, aRecord(Buffer.from('{'))];
    const next = eventRecord();
    await writer.write(topics.inbox, 0, [event, ...later, next]);
    await one.sequence(0, [event], aSession(1));
    await one.sequence(0, later, aSession(1));
    await one.checkpointAll(aSession(1));
    expect(await one.sequence(0, [next], aSession(2))).toBeUndefined();
    await expectLog(2);
    // What it has read is compared with the inbox, too.
    expect(inboxEnds).toEqual([0, 4]);
    expect(await readTopic(brokers, topics.deadLetter)).toHaveLength(2);
    await one.sequence(0, [...later, next], aSession(2));
    expect(await readTopic(brokers, topics.deadLetter)).toHaveLength(2);
  });

  it('is read again from the last event by a sequencer that starts: no log record shows what the inbox held after it', async () => {
    const [event, bad, next] = [eventRecord(), aRecord(Buffer.from('{')), eventRecord()];
    await writer.write(topics.inbox, 0, [event, bad, next]);
    await sequencer.sequence(0, [event], aSession());
    await sequencer.sequence(0, [bad], aSession());
    await sequencer.checkpointAll(aSession());
    expect(await aSequencer().sequence(0, [next], aSession())).toBe(1);
  });

  it('goes on after offsets that the inbox does not have', async () => {
    await writer.write(topics.inbox, 0, [eventRecord()]);
    const [, , ahead] = oneTo(3).map(() => eventRecord());
    expect(await sequencer.sequence(0, [ahead!], aSession())).toBe(0);
    expect(await sequencer.sequence(0, [ahead!], aSession())).toBeUndefined();
    await expectLog(1);
  });
});

describe('a record of the inbox that cannot be read', () => {
  it('goes to the dead-letter topic with the reason and its origin, and stops nothing', async () => {
    const first = eventRecord();
    const bad = aRecord(Buffer.from('{"id":'), orgId, { 'x-of': 'the producer' });
    await sequencer.sequence(0, [first, bad, eventRecord()], aSession());
    await expectLog(2);
    const [letter] = await readTopic(brokers, topics.deadLetter);
    expect(letter).toMatchObject({ key: orgId, value: Buffer.from('{"id":') });
    expect(letter!.headers).toEqual({
      'x-of': 'the producer',
      'x-error-code': 'malformed_request',
      'x-error-detail': expect.any(String),
      'x-origin': `${topics.inbox}/0/1`,
    });
  });

  it.each([
    ['without an id', '{"event":"ticket.created","org_id":"ORG","data":{}}', 'validation_failed'],
    ['of an unknown type', '{"id":"evt_0123456789ABCDEF","event":"x","org_id":"ORG","data":{}}', 'unknown_event_type'],
    [
      'of another org than its key',
      `{"id":"evt_0123456789ABCDEF","event":"ticket.created","org_id":"${anOrgId()}","data":{}}`,
      'validation_failed',
    ],
    [
      'that is a test event without a target',
      '{"id":"evt_0123456789ABCDEF","event":"test","org_id":"ORG","data":{}}',
      'unknown_event_type',
    ],
  ])('such as one %s', async (_what, text, code) => {
    await sequencer.sequence(0, [aRecord(Buffer.from(text.replace('ORG', orgId)))], aSession());
    expect(await readTopic(brokers, topics.log)).toHaveLength(0);
    const [letter] = await readTopic(brokers, topics.deadLetter);
    expect(letter!.headers['x-error-code']).toBe(code);
  });

  it('gets there even when the brokers go away between the log and the dead letters', async () => {
    const records = [aRecord(Buffer.from('not JSON')), eventRecord()];
    appender.isFaulty = true;
    await expect(sequencer.sequence(0, records, aSession())).rejects.toThrow('the brokers are away');
    await sequencer.sequence(0, records, aSession());
    await expectLog(1);
    expect((await readTopic(brokers, topics.deadLetter)).map(({ value }) => value.toString())).toContain('not JSON');
  });
});
