import type { InstallationRecord, InstallationRow } from '#libs/domain';
import { FeedPlaces, InstallationRows } from '#libs/postgres';
import { ensureTopics, InstallationTopic, topicPlans } from '#libs/kafka-log';
import type { Installation } from '../installation.js';

/** The installations that database and brokers belong to, before and after. */
export interface Adoption {
  readonly row: InstallationRow | null;
  readonly record: InstallationRecord | null;
  /** The installation of both sides afterwards; `null` if neither side has one yet. */
  readonly becomes: InstallationRow | null;
}

/**
 * Assigns the database to the installation of the brokers. If the topics are lost, assigns new ones to the installation
 * of the database.
 */
export async function adopt(
  { connection, topics, config, store }: Installation,
  isApplied: boolean,
): Promise<Adoption> {
  const rows = new InstallationRows(store);
  const topic = new InstallationTopic(connection, topics.installation);
  const row = await rows.read();
  const { record, accepted } = await topic.readAll();
  const known = record ?? row;
  if (known === null) return { row, record, becomes: null };
  const { clusterId } = await connection.withAdmin((admin) => admin.describeCluster());
  const { id, partitions, createdAt } = known;
  const place = { kafkaClusterId: clusterId, topicPrefix: config.topicPrefix };
  const becomes: InstallationRow = { id, partitions, createdAt, ...place, announced: true };
  if (!isApplied) return { row, record, becomes };
  if (record === null) {
    await connection.withAdmin((admin) =>
      ensureTopics(admin, topicPlans(topics, { ...config, partitions }), { accepted }),
    );
    await topic.announce({ id, partitions, createdAt });
  }
  await rows.replace(becomes, new FeedPlaces(store).ofMain);
  return { row, record, becomes };
}

/** Returns the text lines of an adoption. */
export function adoptionLines({ row, record, becomes }: Adoption, isApplied: boolean): readonly string[] {
  if (becomes === null) return ['Neither side belongs to an installation yet. The next start creates one.'];
  if (row !== null && row.id === record?.id)
    return [`Both sides belong to installation ${row.id}. There is nothing to do.`];
  return [
    `database: ${row === null ? 'no installation' : `installation ${row.id}, topics ${row.topicPrefix}.*`}`,
    `brokers:  ${record === null ? 'no installation' : `installation ${record.id}`}`,
    `both ${isApplied ? 'belong' : 'would belong'} to installation ${becomes.id}, with ${becomes.partitions} partitions`,
    isApplied ? 'Done. Run repair next.' : 'This was a dry run: nothing has changed. Run it again with --apply.',
  ];
}
