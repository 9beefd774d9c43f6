import { AssignerProtocol, type PartitionAssigner } from 'kafkajs';

const ASSIGNER = 'gapless-fixed';

/**
 * Gives the only member of a group the wanted partitions alone, because kafkajs has no manual assignment.
 * @param wanted partitions by topic
 */
export function fixedAssignment(wanted: ReadonlyMap<string, readonly number[]>): PartitionAssigner {
  return () => ({
    name: ASSIGNER,
    version: 1,
    assign: ({ members }) => {
      const assignment = Object.fromEntries([...wanted].map(([topic, partitions]) => [topic, [...partitions]]));
      return Promise.resolve(
        members.map(({ memberId }) => ({
          memberId,
          memberAssignment: AssignerProtocol.MemberAssignment.encode({
            version: 1,
            assignment,
            userData: Buffer.alloc(0),
          }),
        })),
      );
    },
    protocol: ({ topics }) => ({
      name: ASSIGNER,
      metadata: AssignerProtocol.MemberMetadata.encode({ version: 1, topics, userData: Buffer.alloc(0) }),
    }),
  });
}
