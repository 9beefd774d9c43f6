import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventId, Position, Seq } from '#libs/domain';
import { KafkaConnection, logRecord, PartitionWriter, readPartitions, topicNames } from '#libs/kafka-log';
import { createLogger } from '#libs/runtime';
import { anOrgId } from '../../../test/support/ids.js';
import { oneTo } from '../../../test/support/sequence.js';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { makeTopics } from '../../../test/support/topics.js';
import { CheckedContinuity } from './log-continuity.js';

const RECORDS = 3;
const RESTORED = { partition: 0, logOffset: RECORDS, checkpointedLogOffset: 0, isReset: false, inboxOffset: 0 };
const prefix = `t${randomBytes(4).toString('hex')}`;
const topics = topicNames(prefix, []);
/** Topics whose log names records of their inbox. */
const named = topicNames(`${prefix}-named`, []);

let connection: KafkaConnection;
let writer: PartitionWriter;
/** How far Postgres has read the log; `null` while it is away. */
let projected: number | null;
/** How many connections to the brokers broke. */
let interruptions = 0;

beforeAll(async () => {
  const brokers = process.env['TEST_KAFKA_BROKERS']!.split(',');
  const logger = createLogger('silent', 'test');
  connection = new KafkaConnection({ brokers, clientId: 'test', logger, interruptions: () => interruptions });
  writer = new PartitionWriter(connection);
  const plan = { partitions: 1, retentionMs: -1, compacted: false, appendTime: false };
  const all = [topics.log, topics.inbox, named.log, named.inbox];
  await makeTopics(
    connection,
    all.map((topic) => ({ topic, ...plan })),
  );
  await writer.write(topics.log, 0, logRecords(true));
  await writer.write(named.log, 0, logRecords(false));
  await writer.write(
    named.inbox,
    0,
    oneTo(RECORDS + 1).map((n) => ({ key: null, value: Buffer.from(JSON.stringify({ id: idOf(n) })) })),
  );
  // A broker that has just started may still be loading what it knows of groups.
  await eventually(() => readPartitions(connection, [{ topic: topics.log, partition: 0, from: 0 }], () => undefined));
});

function idOf(n: number): EventId {
  return `evt_${String(n).padStart(26, '0')}` as EventId;
}

/** Each comes from the inbox record with the same offset. @param isPutBack whether a repair has put them back */
function logRecords(isPutBack: boolean) {
  const orgId = anOrgId();
  return oneTo(RECORDS).map((seq) =>
    logRecord(
      {
        orgId,
        seq: seq as Seq,
        id: idOf(seq),
        event: 'ticket.created',
        widgetId: null,
        targetEndpoint: null,
        traceparent: null,
        envelope: Buffer.from('{}'),
      },
      { occurredAt: '2026-01-01T00:00:00Z', inboxOffset: seq - 1, inboxTimeMs: 0, isPutBack },
    ),
  );
}

afterAll(async () => {
  await writer.close();
});

function aContinuity(of = topics): CheckedContinuity {
  return new CheckedContinuity({
    connection,
    topics: of,
    projected: () => {
      if (projected === null) throw new Error('Postgres is away');
      return Promise.resolve(new Map<number, Position>([[0, { next: projected, anchor: null }]]));
    },
    byDatabase: (partitions) => [partitions],
  });
}

describe('a log partition that Postgres has read further than it goes', () => {
  it('stops, also when it comes back to a process that had compared it before', async () => {
    const continuity = aContinuity();
    projected = RECORDS + 1;
    expect((await continuity.check([RESTORED])).get(0)?.message).toMatch(/Postgres has read it further/);
    projected = RECORDS;
    expect(await continuity.check([RESTORED])).toEqual(new Map());
    projected = RECORDS + 1;
    continuity.keeps([1]);
    expect((await continuity.check([RESTORED])).get(0)?.message).toMatch(/Postgres has read it further/);
  });

  it('is not asked for again while a process keeps it, so that it goes on while Postgres is away', async () => {
    const continuity = aContinuity();
    projected = RECORDS;
    await continuity.check([RESTORED]);
    projected = null;
    continuity.keeps([0]);
    await continuity.ask([0]);
    expect(continuity.divide([0, 1, 2])).toEqual([[0], [1, 2]]);
    expect(await continuity.check([RESTORED])).toEqual(new Map());
    continuity.keeps([1]);
    await expect(continuity.ask([0])).rejects.toThrow('Postgres is away');
    await expect(continuity.check([RESTORED])).rejects.toThrow('Postgres is away');
  });

  it('is compared again after a connection to a broker broke', async () => {
    const continuity = aContinuity();
    projected = RECORDS;
    await continuity.check([RESTORED]);
    projected = RECORDS + 1;
    expect(await continuity.check([RESTORED])).toEqual(new Map());
    interruptions++;
    expect((await continuity.check([RESTORED])).get(0)?.message).toMatch(/Postgres has read it further/);
  });

  it('stays stopped until it fits again', async () => {
    const continuity = aContinuity();
    projected = RECORDS + 1;
    for (let times = 0; times < 2; times++) expect((await continuity.check([RESTORED])).size).toBe(1);
    projected = RECORDS;
    expect(await continuity.check([RESTORED])).toEqual(new Map());
  });
});

describe('a log partition that ends earlier', () => {
  const EARLIER = { ...RESTORED, logOffset: RECORDS - 1 };

  it('than its checkpoint stops', async () => {
    projected = 0;
    const covered = { ...EARLIER, checkpointedLogOffset: RECORDS };
    const stop = (await aContinuity().check([covered])).get(0)?.stop;
    expect(stop).toMatchObject({ topic: topics.log, expectedOffset: RECORDS, foundOffset: RECORDS - 1 });
  });

  it.each(['wrote', 'restored'] as const)('than what this process %s stops', async (how) => {
    projected = 0;
    const continuity = aContinuity();
    if (how === 'wrote') continuity.reached(0, RECORDS);
    else await continuity.check([RESTORED]);
    expect((await continuity.check([EARLIER])).get(0)?.stop.expectedOffset).toBe(RECORDS);
    expect((await continuity.check([EARLIER])).size).toBe(1);
    expect(await continuity.check([RESTORED])).toEqual(new Map());
  });
});

describe('an inbox partition', () => {
  const READ = { ...RESTORED, inboxOffset: RECORDS };

  it('that holds what the log names goes on', async () => {
    projected = 0;
    expect(await aContinuity(named).check([READ])).toEqual(new Map());
  });

  it('that ends before what was read stops', async () => {
    projected = 0;
    const { stop } = (await aContinuity(named).check([{ ...READ, inboxOffset: RECORDS + 2 }])).get(0)!;
    expect(stop).toMatchObject({ topic: named.inbox, expectedOffset: RECORDS + 2, foundOffset: RECORDS + 1 });
  });

  describe('that holds another event than the log has from there', () => {
    /** The log of one, with an inbox that begins with another event. */
    const other = { ...named, inbox: topicNames(`${prefix}-other`, []).inbox };

    beforeAll(async () => {
      await makeTopics(connection, [
        { topic: other.inbox, partitions: 1, retentionMs: -1, compacted: false, appendTime: false },
      ]);
      const values = oneTo(RECORDS).map((n) => (n < RECORDS ? JSON.stringify({ id: idOf(n) }) : 'not JSON'));
      await writer.write(
        other.inbox,
        0,
        values.map((value) => ({ key: null, value: Buffer.from(value) })),
      );
    });

    it('stops', async () => {
      projected = 0;
      const { stop } = (await aContinuity(other).check([READ])).get(0)!;
      expect(stop).toMatchObject({ topic: other.inbox, expectedOffset: RECORDS - 1 });
      expect(stop.reason).toContain(idOf(RECORDS));
    });

    it('goes on if a repair wrote the checkpoint, until the log has records after it', async () => {
      projected = 0;
      const repaired = { ...READ, isReset: true, checkpointedLogOffset: RECORDS };
      expect(await aContinuity(other).check([repaired])).toEqual(new Map());
      const earlier = { ...repaired, checkpointedLogOffset: RECORDS - 1 };
      expect((await aContinuity(other).check([earlier])).size).toBe(1);
    });

    it('goes on if a repair has put the last log record back', async () => {
      projected = 0;
      expect(await aContinuity({ ...topics, inbox: other.inbox }).check([READ])).toEqual(new Map());
    });
  });
});
