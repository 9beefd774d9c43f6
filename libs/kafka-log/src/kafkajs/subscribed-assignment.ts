import { AssignerProtocol, type PartitionAssigner } from 'kafkajs';

/** The name of kafkajs' own assigner, so that members of other versions can be in the same group. */
const ASSIGNER = 'RoundRobinAssigner';

/**
 * Spreads partitions over the members of a group in turn, each topic over the members that read it. kafkajs' own
 * assigner gives every member the leader's topics. While members differ (a changed retry schedule, a new version), some
 * topics would have no reader.
 */
export const subscribedAssignment: PartitionAssigner = ({ cluster }) => ({
  name: ASSIGNER,
  version: 0,
  assign: ({ members, topics }) => {
    const subscriptions = members
      .map(({ memberId, memberMetadata }) => ({
        memberId,
        topics: new Set(AssignerProtocol.MemberMetadata.decode(memberMetadata)?.topics ?? topics),
      }))
      .toSorted((one, other) => (one.memberId < other.memberId ? -1 : 1));
    const own = new Map(topics.map((topic) => [topic, cluster.findTopicPartitionMetadata(topic)]));
    // The partitions of topics that only other members read are unknown here, but all topics have equally many.
    const partitions = [...own.values()].find((found) => found.length > 0)?.map(({ partitionId }) => partitionId) ?? [];
    const others = new Set(subscriptions.flatMap((member) => [...member.topics].filter((topic) => !own.has(topic))));
    const assigned = new Map<string, Record<string, number[]>>(members.map(({ memberId }) => [memberId, {}]));
    let turn = 0;
    for (const topic of [...topics, ...[...others].toSorted()]) {
      const readers = subscriptions.filter((member) => member.topics.has(topic));
      for (const partition of own.get(topic)?.map(({ partitionId }) => partitionId) ?? partitions) {
        const reader = readers[turn++ % readers.length];
        if (reader !== undefined) ((assigned.get(reader.memberId) ?? {})[topic] ??= []).push(partition);
      }
    }
    return Promise.resolve(
      [...assigned].map(([memberId, assignment]) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version: 0,
          assignment,
          userData: Buffer.alloc(0),
        }),
      })),
    );
  },
  protocol: ({ topics }) => ({
    name: ASSIGNER,
    metadata: AssignerProtocol.MemberMetadata.encode({ version: 0, topics, userData: Buffer.alloc(0) }),
  }),
});
