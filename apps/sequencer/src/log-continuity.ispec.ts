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
const topics = topicNames(`t${randomBytes(4).toString('hex')}`, []);

let connection: KafkaConnection;
let writer: PartitionWriter;
/** How far Postgres has read the log; `null` while it is away. */
let projected: number | null;

beforeAll(async () => {
  const brokers = process.env['TEST_KAFKA_BROKERS']!.split(',');
  connection = new KafkaConnection({ brokers, clientId: 'test', logger: createLogger('silent', 'test') });
  writer = new PartitionWriter(connection);
  const plan = { partitions: 1, retentionMs: -1, compacted: false, appendTime: false };
  await makeTopics(
    connection,
    [topics.log, topics.inbox].map((topic) => ({ topic, ...plan })),
  );
  const orgId = anOrgId();
  const records = oneTo(RECORDS).map((seq) =>
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
      { occurredAt: '2026-01-01T00:00:00Z', inboxOffset: seq, inboxTimeMs: 0, isPutBack: true },
    ),
  );
  await writer.write(topics.log, 0, records);
  // A broker that has just started may still be loading what it knows of groups.
  await eventually(() => readPartitions(connection, [{ topic: topics.log, partition: 0, from: 0 }], () => undefined));
});

afterAll(async () => {
  await writer.close();
});

function aContinuity(): CheckedContinuity {
  return new CheckedContinuity({
    connection,
    topics,
    projected: () => {
      if (projected === null) throw new Error('Postgres is away');
      return Promise.resolve(new Map<number, Position>([[0, { next: projected, anchor: null }]]));
    },
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
    continuity.left(0);
    expect((await continuity.check([RESTORED])).get(0)?.message).toMatch(/Postgres has read it further/);
  });

  it('is not asked for again while a process keeps it, so that it goes on while Postgres is away', async () => {
    const continuity = aContinuity();
    projected = RECORDS;
    await continuity.check([RESTORED]);
    projected = null;
    expect(await continuity.check([RESTORED])).toEqual(new Map());
    continuity.left(0);
    await expect(continuity.check([RESTORED])).rejects.toThrow('Postgres is away');
  });
});
