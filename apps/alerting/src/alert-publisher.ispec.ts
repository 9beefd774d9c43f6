import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { EventId, QueueChange } from '#libs/domain';
import {
  KafkaConnection,
  LogPositions,
  PartitionWriter,
  type Appender,
  type NewRecord,
  type TopicNames,
} from '#libs/kafka-log';
import {
  AlertClaims,
  AlertOutbox,
  CHAT_QUEUE_PROJECTION,
  ChatQueueProjection,
  ChatQueueReader,
  type Store,
} from '#libs/postgres';
import { createLogger, type Logger } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { happened, HANDED_OFF_AT_MS } from '../../../test/support/conversations.js';
import { anEventId, anOrgId } from '../../../test/support/ids.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/infrastructure/database.js';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { aStore, migrateTestDatabase } from '../../../test/support/store.js';
import { makeTopics } from '../../../test/support/topics.js';
import { AlertPublisher, type AlertPublisherDependencies } from './alert-publisher.js';
import type { CaughtUpPartitions } from './caught-up-partitions.js';
import { Sweep } from './sweep.js';

const NOW_MS = Date.UTC(2026, 5, 1, 12);

let database: TestDatabase;
let store: Store;

beforeAll(async () => {
  database = await createTestDatabase(migrateTestDatabase);
  store = aStore(database.url);
  await store.open(() => undefined);
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

/** Stores alerts of a partition that were raised a millisecond after each other. */
async function raised(
  partition: number,
  count: number,
  firstAtMs: number,
  waitedSeconds = 60,
): Promise<readonly EventId[]> {
  const ids = Array.from({ length: count }, () => anEventId());
  await store.query(
    `insert into alerts (org_id, event_id, conversation_id, entry_id, stage, log_partition, raised_at, data, tells_staff,
       mail_state)
     select $1, id, 'cnv_' || n, 'evt_' || n, 1, $2, to_timestamp(($3::bigint + n) / 1000.0),
       json_build_object('conversation', json_build_object('waited_seconds', $5::int)), true, 'none'
     from unnest($4::text[]) with ordinality as alert(id, n)`,
    [anOrgId(), partition, firstAtMs, ids, waitedSeconds],
  );
  return ids;
}

/** The bounds of staff alerts that hold none. */
const EMPTY = new Map(Array.from({ length: 10 }, (_, partition) => [partition, { begin: 0, end: 0 }]));

/** A publisher whose log takes every event, and whose staff alerts are written by `write`. */
function aPublisher(write: PartitionWriter['write'], changes: Partial<AlertPublisherDependencies> = {}) {
  return new AlertPublisher({
    outbox: new AlertOutbox(store),
    connection: {} as KafkaConnection,
    positions: { bounds: () => Promise.resolve(EMPTY) } as unknown as LogPositions,
    appender: { append: () => Promise.resolve() } as unknown as Appender,
    writer: { write } as unknown as PartitionWriter,
    topics: { inbox: 'inbox', log: 'log', staffAlerts: 'staff-alerts' } as TopicNames,
    clock: { now: () => NOW_MS },
    logger: createLogger('silent', 'test'),
    ...changes,
  });
}

it('publishes alerts and events however many staff alerts of another partition cannot be written', async () => {
  const appended: string[] = [];
  const written: number[] = [];
  const write = (_topic: string, partition: number, records: readonly unknown[]) => {
    if (partition === 3) return Promise.reject(new Error('too few replicas'));
    written.push(...records.map(() => partition));
    return Promise.resolve(0);
  };
  const append = (records: readonly NewRecord[]) => {
    appended.push(...records.map(({ value }) => (JSON.parse(String(value)) as { id: string }).id));
    return Promise.resolve();
  };
  const publisher = aPublisher(write, { appender: { append } as unknown as Appender });
  const stuck = await raised(3, 201, NOW_MS - 60_000);
  const [other] = await raised(4, 1, NOW_MS);
  const publish = () => publisher.publish([2, 3, 4], new Set([...stuck, other!]), EMPTY);

  const { count, failures } = await publish();
  expect([count, [...failures]]).toEqual([1, [[3, new Error('too few replicas')]]]);
  expect(appended.toSorted()).toEqual([...stuck.slice(0, 200), other].toSorted());
  expect(written).toEqual([4]);
  const marked = await store.query('select event_id from alerts where published_at is not null');
  expect(marked).toEqual([{ event_id: other }]);

  // The fold notes the events of the log.
  await store.query('update alerts set is_logged = true where event_id = any($1)', [appended]);
  appended.length = 0;
  expect((await publish()).count).toBe(0);
  expect(appended).toEqual(stuck.slice(200));
});

it('publishes many events while it cannot be read where the staff alerts end', async () => {
  const appended: string[] = [];
  const append = (records: readonly NewRecord[]) => {
    appended.push(...records.map(({ value }) => (JSON.parse(String(value)) as { id: string }).id));
    return Promise.resolve();
  };
  const ids = await raised(9, 20, NOW_MS);
  const publisher = aPublisher(() => Promise.reject(new Error('no leader')), {
    appender: { append } as unknown as Appender,
    positions: { bounds: () => Promise.reject(new Error('no leader')) } as unknown as LogPositions,
  });
  expect((await publisher.publish([9], new Set(ids), await publisher.staffAlertBounds())).failures.size).toBe(1);
  expect(appended.toSorted()).toEqual(ids.toSorted());
});

it('goes on until nothing is left: meanwhile another process may have left an alert to it', async () => {
  const counts = [1, 1, 0];
  const publish = jest.fn(() => Promise.resolve({ count: counts.shift() ?? 0, withheld: [] }));
  const outbox = { publish, waitingIn: (partitions: readonly number[]) => Promise.resolve(partitions) };
  const publisher = aPublisher(() => Promise.resolve(0), { outbox: outbox as unknown as AlertOutbox });
  expect(await publisher.publish([1], new Set(), EMPTY)).toEqual({ count: 2, failures: new Map() });
  expect(publish).toHaveBeenCalledTimes(3);
});

it('counts the alerts of all partitions that it publishes at the same time', async () => {
  const ids = (await Promise.all([5, 6, 7].map((partition) => raised(partition, 2, NOW_MS)))).flat();
  const publisher = aPublisher(() => Promise.resolve(0));
  expect((await publisher.publish([5, 6, 7], new Set(ids), EMPTY)).count).toBe(6);
});

it('reads what a partition holds once, however often its staff alerts cannot be written', async () => {
  const TOPIC = 'staff-alerts';
  const end = 7;
  let looks = 0;
  const readFrom: string[] = [];
  const events = { CRASH: 'crash', GROUP_JOIN: 'join', END_BATCH_PROCESS: 'end' };
  /** Hands over the records up to the end, which are no alerts. */
  const consumer = () => {
    let join: () => void = () => undefined;
    return {
      events,
      connect: () => Promise.resolve(),
      subscribe: () => Promise.resolve(),
      disconnect: () => Promise.resolve(),
      on: (event: string, listener: () => void) => {
        if (event === events.GROUP_JOIN) join = listener;
      },
      seek: ({ offset }: { readonly offset: string }) => readFrom.push(offset),
      run: ({ eachBatch }: { readonly eachBatch: (payload: object) => Promise<void> }) => {
        join();
        return eachBatch({ batch: { topic: TOPIC, partition: 8, messages: [], lastOffset: () => String(end - 1) } });
      },
    };
  };
  const admin = {
    fetchTopicOffsets: () => Promise.resolve([{ partition: 8, low: '0', high: String(end) }]),
    deleteGroups: () => Promise.resolve(),
  };
  const publisher = aPublisher(() => Promise.reject(new Error('too few replicas')), {
    connection: {
      kafka: { consumer },
      withAdmin: (act: (use: typeof admin) => unknown) => Promise.resolve(act(admin)),
    } as unknown as KafkaConnection,
    positions: {
      endsBefore: () => {
        looks++;
        return Promise.resolve(new Map([[8, 5]]));
      },
    } as unknown as LogPositions,
  });
  await raised(8, 1, NOW_MS);
  for (let nth = 0; nth < 3; nth++) expect((await publisher.publish([8], new Set(), EMPTY)).failures.size).toBe(1);
  expect(looks).toBe(1);
  expect(readFrom).toEqual(['5']);
});

describe('an alert that could not be published before its chat was answered', () => {
  const PARTITION = 1;
  const orgId = anOrgId();
  const written = { events: [] as string[], staffAlerts: [] as string[] };
  const refusing = new Set<keyof typeof written>();
  const logged: unknown[] = [];
  let projection: ChatQueueProjection;
  let sweep: Sweep;
  let seq = 0;

  /** Writes the ids of records, unless the partition takes none. */
  const write = (to: keyof typeof written, member: string, records: readonly Pick<NewRecord, 'value'>[]) => {
    if (refusing.has(to)) return Promise.reject(new Error('no leader'));
    const values = records.map(({ value }) => JSON.parse(String(value)) as Readonly<Record<string, string>>);
    written[to].push(...values.map((value) => value[member] ?? ''));
    return Promise.resolve();
  };

  /** Folds an event of the log about the chat. */
  const fold = async (change: QueueChange, id?: string) => {
    const event = happened(change, { orgId, seq: ++seq, afterSeconds: seq });
    const stretch = { topic: 'log', partition: PARTITION, firstOffset: seq - 1, nextOffset: seq };
    const known = id === undefined ? event : { ...event, id: id as EventId };
    await projection.apply({ projection: CHAT_QUEUE_PROJECTION, ...stretch }, [{ ...known, offset: seq - 1 }]);
  };

  /** The alerts as the list shows them, with what is stored of their publication; newest first. */
  const alerts = async () => {
    const listed = await new ChatQueueReader(store).alerts(orgId, 10);
    const rows = await store.query<{ event_id: EventId; published: boolean }>(
      'select event_id, published_at is not null as published from alerts where org_id = $1',
      [orgId],
    );
    const published = new Map(rows.map((row) => [row.event_id, row.published]));
    return listed.alerts.map(({ eventId, clearedBy }) => ({ clearedBy, published: published.get(eventId) }));
  };

  beforeAll(() => {
    projection = new ChatQueueProjection(store);
    const clock = { now: () => HANDED_OFF_AT_MS + 120_000 };
    const logger = { info: (line: object, name: string) => logged.push({ ...line, name }) } as unknown as Logger;
    const offsets = { fetchTopicOffsets: () => Promise.resolve([{ partition: PARTITION, low: '0', high: '0' }]) };
    const writeStaffAlerts: PartitionWriter['write'] = async (_topic, _partition, records) => {
      await write('staffAlerts', 'event_id', records);
      return 0;
    };
    const publisher = aPublisher(writeStaffAlerts, {
      appender: { append: (records: readonly NewRecord[]) => write('events', 'id', records) } as unknown as Appender,
      // The topic holds no staff alert.
      connection: {
        withAdmin: (act: (admin: typeof offsets) => unknown) => Promise.resolve(act(offsets)),
      } as unknown as KafkaConnection,
      positions: {
        bounds: () => Promise.resolve(EMPTY),
        endsBefore: () => Promise.resolve(new Map()),
      } as unknown as LogPositions,
      clock,
      logger,
    });
    const caughtUp = {
      find: () =>
        (async function* () {
          yield await Promise.resolve([PARTITION]);
        })(),
    } as unknown as CaughtUpPartitions;
    sweep = new Sweep({
      caughtUp,
      claims: new AlertClaims(store),
      publisher,
      mails: false,
      clock,
      logger: createLogger('silent', 'test'),
      metrics: new Metrics(),
    });
  });

  beforeEach(async () => {
    for (const ids of [written.events, written.staffAlerts, logged]) ids.length = 0;
    refusing.clear();
    await store.query('delete from alerts where org_id = $1', [orgId]);
    await fold({ kind: 'entered', snapshot: { subject: 'Where is my parcel?' } });
  });

  it.each(['picked_up', 'abandoned', 'completed'] as const)('is withheld, and listed as cleared by %s', async (how) => {
    refusing.add('events').add('staffAlerts');
    const failures = new Map([[PARTITION, new Error('no leader')]]);
    expect(await sweep.round()).toMatchObject({ raised: 1, published: 0, failures });
    expect(await alerts()).toEqual([{ clearedBy: null, published: false }]);
    await fold({ kind: 'left', how });
    refusing.clear();

    expect(await sweep.round()).toMatchObject({ raised: 0, published: 0, failures: new Map() });
    expect(written).toEqual({ events: [], staffAlerts: [] });
    expect(await alerts()).toEqual([{ clearedBy: how, published: true }]);
    expect(logged).toEqual([expect.objectContaining({ name: 'alert.withheld', org_id: orgId, stage: 1 })]);
  });

  it('is withheld when its chat enters the queue again, and the new wait gets its own', async () => {
    refusing.add('events').add('staffAlerts');
    await sweep.round();
    await fold({ kind: 'entered', snapshot: {} });
    refusing.clear();

    expect(await sweep.round()).toMatchObject({ raised: 1, published: 1 });
    expect(written.events).toHaveLength(1);
    expect(written.staffAlerts).toEqual(written.events);
    const found = await alerts();
    expect(found).toContainEqual({ clearedBy: 'handed_off', published: true });
    expect(found).toContainEqual({ clearedBy: null, published: true });
    await fold({ kind: 'left', how: 'picked_up' });
  });

  it('is completed if its event is in the log', async () => {
    refusing.add('staffAlerts');
    await sweep.round();
    const [event] = written.events;
    await fold({ kind: 'alerted', stage: 1 }, event);
    await fold({ kind: 'left', how: 'picked_up' });
    refusing.clear();

    expect(await sweep.round()).toMatchObject({ raised: 0, published: 1 });
    expect(written).toEqual({ events: [event], staffAlerts: [event] });
    expect(await alerts()).toEqual([{ clearedBy: 'picked_up', published: true }]);
    expect(logged).toEqual([]);
  });
});

describe('a staff alert that was written, by a process that ended before it marked it', () => {
  const topics = { inbox: 'inbox', log: 'log', staffAlerts: `t${randomBytes(6).toString('hex')}` } as TopicNames;
  let positions: LogPositions;
  let writer: PartitionWriter;
  let connection: KafkaConnection;
  let publisher: AlertPublisher;
  const publish = async (known: readonly EventId[]) =>
    publisher.publish([0], new Set(known), await publisher.staffAlertBounds());
  const written = async () => (await positions.ends(topics.staffAlerts)).get(0);
  const unmark = (ids: readonly EventId[]) =>
    store.query('update alerts set published_at = null where event_id = any($1)', [ids]);

  beforeAll(async () => {
    const brokers = process.env['TEST_KAFKA_BROKERS']!.split(',');
    connection = new KafkaConnection({ brokers, clientId: 'test', logger: createLogger('silent', 'test') });
    const plan = { topic: topics.staffAlerts, partitions: 1, retentionMs: -1, compacted: false, appendTime: true };
    await makeTopics(connection, [plan]);
    // A broker that has just started has no groups yet, and the publisher does not wait for them.
    await eventually(() =>
      connection.withAdmin((admin) => admin.fetchOffsets({ groupId: 'none', topics: [topics.staffAlerts] })),
    );
    positions = new LogPositions(connection);
    writer = new PartitionWriter(connection);
    publisher = new AlertPublisher({
      outbox: new AlertOutbox(store),
      connection,
      positions,
      appender: { append: () => Promise.resolve() } as unknown as Appender,
      writer,
      topics,
      clock: { now: () => Date.now() },
      logger: createLogger('silent', 'test'),
    });
  });

  afterAll(() => writer.close());

  it('is not written again, also if the clock that raised it was an hour ahead', async () => {
    const ids = await raised(0, 1, Date.now() + 3_600_000, 3_660);
    expect((await publish(ids)).count).toBe(1);
    await unmark(ids);
    expect(await publish([])).toEqual({ count: 1, failures: new Map() });
    expect(await written()).toBe(1);
  });

  it('is not written again, whatever its conversation says since when it waits', async () => {
    const before = (await written())!;
    const ids = await raised(0, 1, Date.now(), 2_000_000_000);
    expect((await publish(ids)).count).toBe(1);
    await unmark(ids);
    expect(await publish([])).toEqual({ count: 1, failures: new Map() });
    expect(await written()).toBe(before + 1);
  });

  it('is not written again by the process that raised it, after a full batch', async () => {
    const before = (await written())!;
    const batch = await raised(0, 200, Date.now() - 60_000);
    const last = await raised(0, 1, Date.now());
    const meanwhile = jest.spyOn(writer, 'write').mockImplementationOnce(async (...records) => {
      // Another process takes what this one has not, and ends before it marks it.
      expect((await publish(last)).count).toBe(1);
      await unmark(last);
      return writer.write(...records);
    });
    expect((await publish([...batch, ...last])).count).toBe(201);
    meanwhile.mockRestore();
    expect(await written()).toBe(before + 201);
  });

  it('is not written again by the process that raised it, before its first batch', async () => {
    const before = (await written())!;
    const bounds = await publisher.staffAlertBounds();
    const ids = await raised(0, 2, Date.now());
    expect((await publish(ids)).count).toBe(2);
    await unmark(ids);
    expect((await publisher.publish([0], new Set(ids), bounds)).count).toBe(2);
    expect(await written()).toBe(before + 2);
  });

  it('is not written again by the process that raised it, between a look at the end and its lock', async () => {
    const before = (await written())!;
    const batch = await raised(0, 200, Date.now() - 60_000);
    const last = await raised(0, 1, Date.now());
    const read = positions.bounds.bind(positions);
    let looks = 0;
    const look = jest.spyOn(positions, 'bounds').mockImplementation(async (topic) => {
      const found = await read(topic);
      if (++looks === 2) {
        // Another process takes what this one has not locked, and ends before it marks it.
        expect((await publish(last)).count).toBe(1);
        await unmark(last);
      }
      return found;
    });
    expect((await publish([...batch, ...last])).count).toBe(201);
    look.mockRestore();
    expect(await written()).toBe(before + 201);
  });

  it('is not looked for after a full batch if nobody else has written', async () => {
    const consumer = jest.spyOn(connection.kafka, 'consumer');
    const ids = await raised(0, 401, Date.now());
    expect((await publish(ids)).count).toBe(401);
    expect(consumer).not.toHaveBeenCalled();
    consumer.mockRestore();
  });
});
