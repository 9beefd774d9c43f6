import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger } from '#libs/runtime';
import { anOrgId } from '../../../../test/support/ids.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { makeTopics } from '../../../../test/support/topics.js';
import { KafkaConnection } from '../connection/kafka-connection.js';
import { OrgLogEnds } from './org-log-ends.js';
import { partitionOf } from '../topics/partition-of.js';
import { PartitionWriter } from '../producing/partition-writer.js';

const PARTITIONS = 3;
const connection = new KafkaConnection({
  brokers: process.env['TEST_KAFKA_BROKERS']!.split(','),
  clientId: 'test',
  logger: createLogger('silent', 'test'),
});
const topic = `t${randomBytes(4).toString('hex')}.log`;
let writer: PartitionWriter;

beforeAll(async () => {
  writer = new PartitionWriter(connection);
  await makeTopics(connection, [
    { topic, partitions: PARTITIONS, retentionMs: -1, compacted: false, appendTime: true },
  ]);
});

afterAll(async () => {
  await writer.close();
});

it('are known of the orgs whose partitions have a leader', async () => {
  const offsets = [{ partition: 0, low: '0', high: '7' }, { partition: 1 }, { partition: 2, low: '0', high: '9' }];
  const led = { withAdmin: () => Promise.resolve(offsets) } as unknown as KafkaConnection;
  const orgIds = oneTo(20).map(() => anOrgId());
  const known = orgIds.filter((orgId) => partitionOf(orgId, PARTITIONS) !== 1);
  expect([...(await new OrgLogEnds(led, topic, PARTITIONS).of(orgIds)).keys()]).toEqual(known);
});

it('come after every record of their partitions, as soon as it is written', async () => {
  const ends = new OrgLogEnds(connection, topic, PARTITIONS);
  const orgIds = oneTo(10).map(() => anOrgId());
  const written = [0, 0, 0];
  for (const [nth, orgId] of orgIds.entries()) {
    const partition = partitionOf(orgId, PARTITIONS);
    const records = oneTo(nth).map((n) => ({ key: orgId, value: Buffer.from(String(n)) }));
    if (records.length > 0) await writer.write(topic, partition, records);
    written[partition] = (written[partition] ?? 0) + records.length;
    expect((await ends.of([orgId])).get(orgId)).toBe(written[partition]);
  }
  expect(await ends.of(orgIds)).toEqual(new Map(orgIds.map((id) => [id, written[partitionOf(id, PARTITIONS)]])));
});
