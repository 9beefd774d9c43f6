import { AssignerProtocol, type PartitionAssigner } from 'kafkajs';

/** As kafkajs calls its own, so that members of other versions can be in the same group. */
const ASSIGNER = 'RoundRobinAssigner';

/**
 * Spreads partitions over the members of a group, in turn, each topic over those that read it. kafkajs' own assigner gives
 * every member the topics of the leader, so that while members differ (a changed retry schedule, a new version) nobody reads
 * some of them.
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
    // Of topics that only others read nothing is known here, but all topics have as many partitions.
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
