import { OperatorError } from './operator-error.js';

/** The identity of an installation in Kafka: a record in a topic of its own. */
export interface InstallationRecord {
  readonly id: string;
  readonly partitions: number;
  /** RFC 3339. */
  readonly createdAt: string;
}

/** The identity of an installation in Postgres: one row. */
export interface InstallationRow extends InstallationRecord {
  readonly kafkaClusterId: string;
  readonly topicPrefix: string;
  /** Whether the record was seen in Kafka. */
  readonly announced: boolean;
}

/** The place where a process starts, and the identities that it finds there. */
export interface InstallationPlace {
  readonly row: InstallationRow | null;
  readonly record: InstallationRecord | null;
  readonly kafkaClusterId: string;
  readonly topicPrefix: string;
  /** The configured number of partitions. */
  readonly partitions: number;
}

export type InstallationVerdict =
  | { readonly kind: 'same' }
  /** Neither Kafka nor Postgres holds an identity. */
  | { readonly kind: 'create' }
  /**
   * Only Postgres is known to hold the identity: a process ended before it wrote the record to Kafka, or before it
   * noted that.
   */
  | { readonly kind: 'announce'; readonly row: InstallationRow }
  | { readonly kind: 'refuse'; readonly reason: string };

const HOW_TO_ADOPT =
  'If this database is meant to go with these brokers (it was restored, or the old one was lost), stop all processes, ' +
  'run "gapless repair adopt" to see what would change, then "gapless repair adopt --apply".';

function refuse(...lines: readonly string[]): InstallationVerdict {
  return { kind: 'refuse', reason: lines.join('\n') };
}

/** Judges whether the database and the brokers belong together. */
export function judgeInstallation(place: InstallationPlace): InstallationVerdict {
  const { row, record, kafkaClusterId, topicPrefix, partitions } = place;
  if (row !== null && row.topicPrefix !== topicPrefix) {
    return refuse(
      `The database belongs to the topics ${row.topicPrefix}.*, but TOPIC_PREFIX is ${topicPrefix}.`,
      `Set TOPIC_PREFIX=${row.topicPrefix}, or correct DATABASE_URL.`,
    );
  }
  if (record?.id !== row?.id) {
    if (row !== null && record === null && !row.announced && row.kafkaClusterId === kafkaClusterId) {
      return row.partitions === partitions ? { kind: 'announce', row } : refusePartitions(row.partitions, partitions);
    }
    return refuse(
      'The database and the brokers do not belong together:',
      row === null
        ? '  - The database (DATABASE_URL) belongs to no installation: it is new.'
        : `  - The database (DATABASE_URL) belongs to installation ${row.id}, on Kafka cluster ${row.kafkaClusterId}.`,
      record === null
        ? `  - The brokers (KAFKA_BROKERS, cluster ${kafkaClusterId}) have no installation under ${topicPrefix}.*: they are new, or lost their topics.`
        : `  - The brokers (KAFKA_BROKERS, cluster ${kafkaClusterId}) belong to installation ${record.id}.`,
      'Correct KAFKA_BROKERS or DATABASE_URL.',
      HOW_TO_ADOPT,
    );
  }
  if (row === null) return { kind: 'create' };
  if (row.partitions !== partitions) return refusePartitions(row.partitions, partitions);
  return row.announced ? { kind: 'same' } : { kind: 'announce', row };
}

function refusePartitions(known: number, setting: number): InstallationVerdict {
  return refuse(
    `PARTITIONS is ${setting}, but this installation was created with ${known}.`,
    `Set PARTITIONS=${known}. The number never changes: it decides where the events of each organization are.`,
  );
}

/** The database and the brokers do not belong together, or do not match the settings. */
export class InstallationMismatchError extends OperatorError {
  override readonly name = 'InstallationMismatchError';
}
