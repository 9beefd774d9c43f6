import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { EventId } from '#libs/domain';
import {
  KafkaConnection,
  LogPositions,
  PartitionWriter,
  type Appender,
  type NewRecord,
  type TopicNames,
} from '#libs/kafka-log';
import { AlertOutbox, type Store } from '#libs/postgres';
import { createLogger } from '#libs/runtime';
import { anEventId, anOrgId } from '../../../test/support/ids.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/infrastructure/database.js';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { aStore, migrateTestDatabase } from '../../../test/support/store.js';
import { makeTopics } from '../../../test/support/topics.js';
import { AlertPublisher, type AlertPublisherDependencies } from './alert-publisher.js';

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
