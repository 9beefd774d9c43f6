import { describe, expect, it } from '@jest/globals';
import { partitionOf, topicNames, type KafkaConnection } from '#libs/kafka-log';
import type { Config } from '#libs/runtime';
import { anOrgId } from '../../../../test/support/ids.js';
import { LogMoments } from './log-moments.js';

const PARTITIONS = 6;
const topics = topicNames('gapless', []);
const orgId = anOrgId();

/** @param ask stands for the brokers */
function moments(ask: () => Promise<unknown>): LogMoments {
  const connection = { withAdmin: ask } as unknown as KafkaConnection;
  return new LogMoments(connection, topics, { partitions: PARTITIONS } as Config);
}

describe('the end of the log, for a request', () => {
  it("is that of the org's partition", async () => {
    const offsets = Array.from({ length: PARTITIONS }, (_, partition) => ({
      partition,
      low: '0',
      high: String(100 + partition),
    }));
    expect(await moments(() => Promise.resolve(offsets)).endOf(orgId)).toBe(100 + partitionOf(orgId, PARTITIONS));
  });

  it('is not known while that partition has no leader', async () => {
    const partitionOfOrg = partitionOf(orgId, PARTITIONS);
    const offsets = Array.from({ length: PARTITIONS }, (_, partition) =>
      partition === partitionOfOrg ? { partition } : { partition, low: '0', high: '9' },
    );
    const ofOrg = moments(() => Promise.resolve(offsets)).endOf(orgId);
    await expect(ofOrg).rejects.toMatchObject({ code: 'unavailable' });
  });

  it.each([
    ['are away', () => Promise.reject(new Error('no broker answers'))],
    ['stand still', () => new Promise(() => undefined)],
  ])('is not known while the brokers %s: the request is refused, and can be repeated', async (_how, ask) => {
    await expect(moments(ask).endOf(orgId, 20)).rejects.toMatchObject({ code: 'unavailable' });
  });
});
