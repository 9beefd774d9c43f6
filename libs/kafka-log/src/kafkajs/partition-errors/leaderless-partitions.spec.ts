import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { methodsOfKafkajs, requireKafkajs } from '../patching/patch.js';
import { keepLeaderlessPartitions, type BrokerPool } from './leaderless-partitions.js';

const [FINE, LEADER_NOT_AVAILABLE, REPLICA_NOT_AVAILABLE, LISTENER_NOT_FOUND] = [0, 5, 9, 72];

interface Cluster {
  findLeaderForPartitions(topic: string, partitions: readonly number[]): object;
  fetchTopicsOffset(topics: readonly object[]): Promise<object>;
}

let asked: string[][];
let answer: () => Promise<ReturnType<typeof aMetadata>>;

beforeAll(() => {
  const methods = methodsOfKafkajs('cluster/brokerPool.js') as BrokerPool;
  methods.refreshMetadata = async function (this: { metadata: unknown; metadataExpireAt: number }, topics) {
    asked.push([...topics]);
    this.metadata = await answer();
    this.metadataExpireAt = Infinity;
  };
  keepLeaderlessPartitions();
});

beforeEach(() => {
  asked = [];
});

afterEach(() => {
  jest.useRealTimers();
});

/** A topic of a partition for each code. Those without an error are led by broker 7. */
function aMetadata(...codes: readonly number[]) {
  const partitionMetadata = codes.map((partitionErrorCode, partitionId) => ({
    partitionErrorCode,
    partitionId,
    leader: partitionErrorCode === FINE ? 7 : -1,
  }));
  return { topicMetadata: [{ topicErrorCode: FINE, topic: 'topic', partitionMetadata }] };
}

describe('an answer with a partition that has no leader', () => {
  const requests = requireKafkajs('protocol/requests/metadata/index.js') as {
    protocol(wanted: { readonly version: number }): (args: object) => {
      readonly response: { parse(answer: object): Promise<object> };
    };
  };
  const parse = (version: number, answered: object) =>
    requests
      .protocol({ version })({ topics: ['topic'], allowAutoTopicCreation: false })
      .response.parse(answered);

  it.each([0, 1, 2, 3, 4, 5, 6])('has the leaders of the others (version %s)', async (version) => {
    for (const code of [LEADER_NOT_AVAILABLE, LISTENER_NOT_FOUND]) {
      const answered = aMetadata(FINE, code);
      expect(await parse(version, answered)).toBe(answered);
    }
  });

  it('fails for other errors of a partition, and for those of a topic', async () => {
    const partitionError = aMetadata(LEADER_NOT_AVAILABLE, REPLICA_NOT_AVAILABLE);
    await expect(parse(6, partitionError)).rejects.toMatchObject({ type: 'REPLICA_NOT_AVAILABLE' });
    const [topic] = aMetadata(FINE).topicMetadata;
    const topicError = { topicMetadata: [{ ...topic, topicErrorCode: LEADER_NOT_AVAILABLE }] };
    await expect(parse(6, topicError)).rejects.toMatchObject({ type: 'LEADER_NOT_AVAILABLE' });
  });
});

describe('the leaders', () => {
  let pool: BrokerPool;

  const look = () => pool.refreshMetadataIfNecessary(['topic']);

  beforeEach(async () => {
    jest.useFakeTimers();
    const fresh = { metadata: null, metadataExpireAt: null };
    pool = Object.assign(Object.create(methodsOfKafkajs('cluster/brokerPool.js')) as BrokerPool, fresh);
    answer = () => Promise.resolve(aMetadata(FINE, LEADER_NOT_AVAILABLE));
    await look();
  });

  it('are asked for every second until each partition has one', async () => {
    for (let nth = 0; nth < 5; nth++) await look();
    expect(asked).toEqual([['topic']]);
    answer = () => Promise.resolve(aMetadata(FINE, FINE));
    jest.advanceTimersByTime(1_000);
    await Promise.all([look(), look()]);
    expect(asked).toHaveLength(2);
    jest.advanceTimersByTime(10_000);
    await look();
    expect(asked).toHaveLength(2);
  });

  it('are used as they are known while a broker does not answer', async () => {
    const known = pool.metadata;
    answer = () => Promise.reject(new Error('no broker'));
    jest.advanceTimersByTime(1_000);
    await look();
    await look();
    expect(asked).toHaveLength(2);
    expect(pool.metadata).toBe(known);
  });
});

it('asks no broker for a partition without a leader, and returns its offset as unknown', async () => {
  const metadata = aMetadata(FINE, LEADER_NOT_AVAILABLE, FINE);
  const listOffsets = () =>
    Promise.resolve({
      responses: [{ topic: 'topic', partitions: [0, 2].map((partition) => ({ partition, offset: '5' })) }],
    });
  const findBroker = ({ nodeId }: { readonly nodeId: string }) =>
    nodeId === '7' ? Promise.resolve({ listOffsets }) : Promise.reject(new Error(`no broker ${nodeId}`));
  const cluster = Object.assign(Object.create(methodsOfKafkajs('cluster/index.js')) as Cluster, {
    brokerPool: { metadata },
    findBroker,
  });
  expect(cluster.findLeaderForPartitions('topic', [0, 1, 2])).toEqual({ '7': [0, 2] });
  const ask = (...partitions: readonly number[]) =>
    cluster.fetchTopicsOffset([{ topic: 'topic', partitions: partitions.map((partition) => ({ partition })) }]);
  const [known, unknown] = [
    [0, 2].map((partition) => ({ partition, offset: '5' })),
    { partition: 1, offset: undefined },
  ];
  expect(await ask(0, 1, 2)).toEqual([{ topic: 'topic', partitions: [...known, unknown] }]);
  expect(await ask(0, 2)).toEqual([{ topic: 'topic', partitions: known }]);
  expect(await ask(1)).toEqual([{ topic: 'topic', partitions: [unknown] }]);
});
