import type { QueryRunner } from 'typeorm';
import { DELIVERY_MEMBERS, HEALTH_COLUMNS } from './delivery-row.js';
import { seen, SEEN_DELIVERIES } from './seen-deliveries.js';

/** A group of tables that are folded from one topic, and can be folded again. */
export type ProjectionName = 'feed' | 'deliveries';

/** A table of a projection. */
export interface ProjectionTable {
  readonly name: string;
  /** The columns of its primary key, and their types. */
  readonly key: readonly (readonly [column: string, type: string])[];
  /** The column that decides the day of a row's partition. */
  readonly day?: string;
  /** Set if rows outlive their records. A rebuild keeps rows without records. */
  readonly outlivesLog?: true;
  /**
   * SQL for the visible rows, without those of deleted endpoints; by default the stored rows. `null` if another table
   * covers it.
   */
  readonly seenAs?: string | null;
}

export const PROJECTION_TABLES: Readonly<Record<ProjectionName, readonly ProjectionTable[]>> = {
  feed: [
    {
      name: 'events',
      key: [
        ['org_id', 'uuid'],
        ['seq', 'bigint'],
        ['appended_at', 'timestamptz'],
      ],
      day: 'appended_at',
    },
    { name: 'org_heads', key: [['org_id', 'uuid']], outlivesLog: true },
    {
      name: 'feed_days',
      key: [
        ['org_id', 'uuid'],
        ['day', 'date'],
      ],
      seenAs: null,
    },
  ],
  deliveries: [
    {
      name: 'deliveries',
      key: [
        ['id', 'text'],
        ['created_at', 'timestamptz'],
      ],
      day: 'created_at',
      seenAs: `select ${DELIVERY_MEMBERS.map(([name]) => `${seen(name)} as ${name}`).join(', ')}
        from ${SEEN_DELIVERIES} where exists (select from endpoints e where e.id = d.endpoint_id)`,
    },
    {
      name: 'delivery_attempts',
      key: [
        ['delivery_id', 'text'],
        ['run', 'integer'],
        ['attempt', 'integer'],
        ['delivery_created_at', 'timestamptz'],
      ],
      day: 'delivery_created_at',
      seenAs: 'select * from delivery_attempts a where exists (select from endpoints e where e.id = a.endpoint_id)',
    },
    { name: 'endpoint_endings', key: [['endpoint_id', 'text']], seenAs: null },
    {
      name: 'endpoint_health',
      key: [['endpoint_id', 'text']],
      outlivesLog: true,
      // `ended_activation` and `ended_at` are for the fold alone. They are 0 and null for endings from before they were
      // stored.
      seenAs: `select ${HEALTH_COLUMNS.map(([name]) => name)
        .filter((name) => !['ended_activation', 'ended_at'].includes(name))
        .join(', ')} from endpoint_health`,
    },
  ],
};

const nameOf = ({ name }: ProjectionTable) => name;

/** The names of the tables of the feed, which each of its databases needs. */
export const FEED_TABLE_NAMES = [...PROJECTION_TABLES.feed.map(nameOf), 'projection_offsets'];
/** The names of all tables of projections. */
export const PROJECTION_TABLE_NAMES = [...FEED_TABLE_NAMES, ...PROJECTION_TABLES.deliveries.map(nameOf)];

/** The offset at which each projection continues, by partition of its topic. */
export type ProjectionPositions = Readonly<Record<ProjectionName, ReadonlyMap<number, number>>>;

/** Returns the projections' offsets, as `runner` sees them. */
export async function readPositions(
  runner: QueryRunner,
  topics: Readonly<Record<ProjectionName, string>>,
): Promise<ProjectionPositions> {
  const rows = (await runner.query('select projection, topic, partition, next_offset from projection_offsets')) as {
    projection: string;
    topic: string;
    partition: number;
    next_offset: string;
  }[];
  const of = (name: ProjectionName) =>
    new Map(
      rows
        .filter((row) => row.projection === name && row.topic === topics[name])
        .map((row) => [row.partition, Number(row.next_offset)]),
    );
  return { feed: of('feed'), deliveries: of('deliveries') };
}
