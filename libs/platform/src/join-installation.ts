import { randomUUID } from 'node:crypto';
import {
  InstallationMismatchError,
  judgeInstallation,
  type Clock,
  type InstallationRecord,
  type InstallationRow,
} from '#libs/domain';
import { FeedPlaces, InstallationRows, type Store } from '#libs/postgres';
import {
  ensureTopics,
  InstallationTopic,
  topicPlans,
  type EnsuredTopics,
  type KafkaConnection,
  type TopicNames,
} from '#libs/kafka-log';
import type { Config, Logger, StartStepOptions } from '#libs/runtime';

export interface InstallationParts {
  readonly kafka: KafkaConnection;
  /** An open store. */
  readonly store: Store;
  readonly topics: TopicNames;
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Checks that the database and the brokers belong together, and creates missing topics. An installation without an
 * identity gets one. Nothing is created on brokers of another installation.
 * @throws InstallationMismatchError, TopicMismatchError
 */
export async function joinInstallation(parts: InstallationParts, wait: StartStepOptions): Promise<void> {
  const { kafka, store, topics, config, logger } = parts;
  const rows = new InstallationRows(store);
  const topic = new InstallationTopic(kafka, topics.installation);
  const { clusterId } = await kafka.withAdmin((admin) => admin.describeCluster());
  const place = { kafkaClusterId: clusterId, topicPrefix: config.topicPrefix, partitions: config.partitions };
  const look = async () => {
    const { record, accepted } = await topic.readAll();
    return { record, accepted, verdict: judgeInstallation({ record, row: await rows.read(), ...place }) };
  };
  let { record, accepted, verdict } = await look();
  // Another process may be creating the installation right now. A second look sees its work on both sides.
  if (verdict.kind === 'refuse') ({ record, accepted, verdict } = await look());
  if (verdict.kind === 'refuse') throw new InstallationMismatchError(verdict.reason);
  const plans = topicPlans(topics, config);
  const ensured = await kafka.withAdmin((admin) => ensureTopics(admin, plans, { ...wait, accepted }));
  reportTopics(ensured, parts);
  if (verdict.kind === 'same') {
    // From now on, another database is refused in its place.
    if (record !== null) store.belongsTo(record.id);
    return;
  }
  const createdAt = new Date(parts.clock.now()).toISOString();
  const row =
    verdict.kind === 'announce'
      ? verdict.row
      : await rows.create({ id: randomUUID(), createdAt, announced: false, ...place }, new FeedPlaces(store).ofMain);
  await announce(topic, row, record);
  const { verdict: settled } = await look();
  if (settled.kind === 'refuse') {
    // Another database was started on the same topics at the same time, and won.
    await rows.withdraw(row.id);
    throw new InstallationMismatchError(settled.reason);
  }
  await rows.announced(row.id, clusterId);
  store.belongsTo(row.id);
  logger.info({ installation: row.id, kafka_cluster: clusterId, partitions: row.partitions }, 'installation.created');
}

/** Logs the operator's choices for topics; they do not stop a start. */
function reportTopics(ensured: EnsuredTopics, { kafka, logger }: InstallationParts): void {
  const { risks, longer, unaltered, grown, brokers } = ensured;
  kafka.metrics.set('gapless_topics_at_risk', {}, risks.length);
  for (const risk of new Set(risks.map((each) => each.risk))) {
    const of = risks.filter((each) => each.risk === risk).map(({ topic }) => topic);
    logger.warn({ risk, topics: of }, 'topics.at_risk');
  }
  for (const { topic, risk } of unaltered) logger.warn({ topic, risk }, 'topics.not_altered');
  for (const { topic, retentionMs, plannedMs } of longer) {
    logger.info({ topic, retention_ms: retentionMs, planned_ms: plannedMs }, 'topics.kept_longer');
  }
  if (brokers === 1) logger.warn({ risk: 'there is one broker: its disk has the only copy' }, 'topics.one_broker');
  if (grown.length > 0) logger.warn({ topics: grown }, 'topics.surplus_partitions');
}

async function announce(
  topic: InstallationTopic,
  { id, partitions, createdAt }: InstallationRow,
  known: InstallationRecord | null,
): Promise<void> {
  if (known?.id !== id) await topic.announce({ id, partitions, createdAt });
}
