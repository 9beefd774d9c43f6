import type { FeedPlace, InstallationRow } from '#libs/domain';
import type { Store } from './store.js';

interface StoredRow {
  readonly id: string;
  readonly kafka_cluster_id: string;
  readonly topic_prefix: string;
  readonly partitions: number;
  readonly created_at: Date;
  readonly announced: boolean;
}

const COLUMNS = 'id, kafka_cluster_id, topic_prefix, partitions, created_at, announced';

/** Stores which installation the database belongs to. */
export class InstallationRows {
  constructor(private readonly store: Store) {}

  async read(): Promise<InstallationRow | null> {
    const [row] = await this.store.query<StoredRow>(`select ${COLUMNS} from installation`);
    if (row === undefined) return null;
    return {
      id: row.id,
      kafkaClusterId: row.kafka_cluster_id,
      topicPrefix: row.topic_prefix,
      partitions: row.partitions,
      createdAt: row.created_at.toISOString(),
      announced: row.announced,
    };
  }

  /** Creates the row. If processes start together, the first one decides. @returns the database's installation */
  async create(row: InstallationRow, { place, places }: FeedPlace): Promise<InstallationRow> {
    await this.store.query(
      `insert into installation (${COLUMNS}, feed_place, feed_places) values ($1, $2, $3, $4, $5, $6, $7, $8)
       on conflict do nothing`,
      [...valuesOf(row), place, places],
    );
    return (await this.read()) ?? row;
  }

  /** Notes that the record is in Kafka. */
  async announced(id: string, kafkaClusterId: string): Promise<void> {
    await this.store.query('update installation set announced = true, kafka_cluster_id = $2 where id = $1', [
      id,
      kafkaClusterId,
    ]);
  }

  /** Removes a row that lost against another database on the same topics. */
  async withdraw(id: string): Promise<void> {
    await this.store.query('delete from installation where id = $1 and not announced', [id]);
  }

  /** Assigns the database to another installation. Only a new database takes that place; otherwise it keeps its own. */
  async replace(row: InstallationRow, { place, places }: FeedPlace): Promise<void> {
    await this.store.query(
      `insert into installation (${COLUMNS}, feed_place, feed_places) values ($1, $2, $3, $4, $5, $6, $7, $8)
       on conflict (is_only) do update set id = excluded.id, kafka_cluster_id = excluded.kafka_cluster_id,
         topic_prefix = excluded.topic_prefix, partitions = excluded.partitions, created_at = excluded.created_at,
         announced = excluded.announced`,
      [...valuesOf(row), place, places],
    );
  }
}

function valuesOf(row: InstallationRow): readonly unknown[] {
  return [row.id, row.kafkaClusterId, row.topicPrefix, row.partitions, row.createdAt, row.announced];
}
