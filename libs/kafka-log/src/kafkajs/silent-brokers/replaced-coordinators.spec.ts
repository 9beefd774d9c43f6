import { afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import kafkajs from 'kafkajs';
import type { ConsumerGroup, GroupBroker } from '../consumer-group.js';
import { errorOfCode } from '../partition-errors/error-of-code.js';
import { requireKafkajs } from '../patching/patch.js';
import { followCoordinators } from './replaced-coordinators.js';

interface FakeBroker extends GroupBroker {
  heartbeat(): Promise<void>;
}

const REBALANCE_IN_PROGRESS = 27;

beforeAll(followCoordinators);

afterEach(() => {
  jest.useRealTimers();
});

function timeout(): Error {
  const options = { broker: 'frozen', clientId: '', correlationId: 1, createdAt: 0, sentAt: 0, pendingDuration: 0 };
  return new kafkajs.KafkaJSRequestTimeoutError('Request Heartbeat timed out', options);
}

/** A member whose coordinator, broker 1, does not answer. */
function aMember(nodeIds: readonly string[], coordinatorId: () => Promise<number>, answer = () => Promise.resolve()) {
  const requests: string[] = [];
  const brokers = new Map(
    nodeIds.map((id) => {
      const broker: FakeBroker = {
        nodeId: Number(id),
        findGroupCoordinator: async () => {
          requests.push(`look at ${id}`);
          return { coordinator: { nodeId: await coordinatorId() } };
        },
        heartbeat: () => {
          requests.push(`heartbeat to ${id}`);
          return id === '1' ? Promise.reject(timeout()) : answer();
        },
      };
      return [id, broker];
    }),
  );
  const Group = requireKafkajs('consumer/consumerGroup.js') as new (options: object) => ConsumerGroup;
  const cluster = {
    getNodeIds: () => nodeIds,
    findBroker: (o: { nodeId: string }) => Promise.resolve(brokers.get(o.nodeId)),
  };
  const [instrumentationEmitter, logger] = [{ emit: () => undefined }, { namespace: () => undefined }];
  const coordinator = brokers.get('1');
  const group = Object.assign(new Group({ cluster, instrumentationEmitter, logger, groupId: 'a group' }), {
    memberId: 'a member',
    coordinator,
    offsetManager: { coordinator },
  }) as ConsumerGroup;
  return { group, requests, beat: () => group.heartbeat({ interval: 0 }) };
}

it('goes on with the new coordinator, in one look for all who wait for the heartbeat', async () => {
  const { group, requests, beat } = aMember(['1', '2'], () => Promise.resolve(2));
  await Promise.all([beat(), beat()]);
  expect(requests).toEqual(['heartbeat to 1', 'look at 2', 'heartbeat to 2']);
  expect([group.coordinator.nodeId, group.offsetManager.coordinator.nodeId]).toEqual([2, 2]);
});

it('reports what the new coordinator says, such as that the group is rebalancing', async () => {
  const answer = () => Promise.reject(errorOfCode(REBALANCE_IN_PROGRESS));
  const { beat } = aMember(['1', '2'], () => Promise.resolve(2), answer);
  await expect(beat()).rejects.toMatchObject({ type: 'REBALANCE_IN_PROGRESS' });
});

it('reports the timeout while the group has the same coordinator, and asks another broker the next time', async () => {
  const { group, requests, beat } = aMember(['1', '2', '3'], () => Promise.resolve(1));
  await expect(beat()).rejects.toThrow('Heartbeat timed out');
  await expect(beat()).rejects.toThrow('Heartbeat timed out');
  expect(requests.filter((request) => request.startsWith('look')).toSorted()).toEqual(['look at 2', 'look at 3']);
  expect(group.coordinator.nodeId).toBe(1);
});

it('reports the timeout at once if there is no other broker', async () => {
  const { requests, beat } = aMember(['1'], () => Promise.resolve(1));
  await expect(beat()).rejects.toThrow('Heartbeat timed out');
  expect(requests).toEqual(['heartbeat to 1']);
});

it('waits for only a second when the other broker does not answer', async () => {
  jest.useFakeTimers();
  const { beat } = aMember(['1', '2'], () => new Promise(() => undefined));
  const failed = expect(beat()).rejects.toThrow('Heartbeat timed out');
  await jest.advanceTimersByTimeAsync(1_000);
  await failed;
});

it('leaves it to a join that found another coordinator meanwhile', async () => {
  let answer: (nodeId: number) => void = () => undefined;
  const { group, beat } = aMember(['1', '2', '3'], () => new Promise((resolve) => (answer = resolve)));
  const failed = expect(beat()).rejects.toThrow('Heartbeat timed out');
  await new Promise(setImmediate);
  const joined = await group.cluster.findBroker({ nodeId: '3' });
  group.coordinator = joined;
  answer(2);
  await failed;
  expect(group.coordinator).toBe(joined);
});
