import { describe, expect, it } from '@jest/globals';
import { AssignerProtocol, type PartitionAssigner } from 'kafkajs';
import { subscribedAssignment } from './subscribed-assignment.js';

type Cluster = Parameters<PartitionAssigner>[0]['cluster'];

const PARTITIONS = [0, 1, 2, 3];

/** What each member is given, when the first one is the leader and knows nothing of topics that it does not read. */
async function assignmentOf(members: Readonly<Record<string, readonly string[]>>) {
  const [leaderTopics = []] = Object.values(members);
  const cluster = {
    findTopicPartitionMetadata: (topic: string) =>
      leaderTopics.includes(topic) ? PARTITIONS.map((partitionId) => ({ partitionId })) : [],
  } as unknown as Cluster;
  const assigner = subscribedAssignment({ cluster } as Parameters<PartitionAssigner>[0]);
  const assigned = await assigner.assign({
    members: Object.entries(members).map(([memberId, topics]) => ({
      memberId,
      memberMetadata: assigner.protocol({ topics: [...topics] }).metadata,
    })),
    topics: [...leaderTopics],
  });
  return Object.fromEntries(
    assigned.map(({ memberId, memberAssignment }) => [
      memberId,
      { ...AssignerProtocol.MemberAssignment.decode(memberAssignment)?.assignment },
    ]),
  );
}

describe('subscribedAssignment', () => {
  it('spreads partitions in turn over members that read the same', async () => {
    expect(await assignmentOf({ a: ['x', 'y'], b: ['x', 'y'], c: ['x', 'y'] })).toEqual({
      a: { x: [0, 3], y: [2] },
      b: { x: [1], y: [0, 3] },
      c: { x: [2], y: [1] },
    });
  });

  it('gives a topic that not all members read to those that do, whichever member leads', async () => {
    expect(await assignmentOf({ b: ['x'], a: ['x', 'y'] })).toEqual({
      a: { x: [0, 2], y: PARTITIONS },
      b: { x: [1, 3] },
    });
    expect(await assignmentOf({ a: ['x', 'y'], b: ['x'] })).toEqual({
      a: { x: [0, 2], y: PARTITIONS },
      b: { x: [1, 3] },
    });
  });

  it('gives each partition of each topic to exactly one member', async () => {
    const assigned = await assignmentOf({ a: ['x', 'z'], b: ['y', 'x'], c: ['z'], d: [] });
    for (const topic of ['x', 'y', 'z']) {
      expect(
        Object.values(assigned)
          .flatMap((topics) => topics[topic] ?? [])
          .toSorted(),
      ).toEqual(PARTITIONS);
    }
    expect(assigned['d']).toEqual({});
  });
});
