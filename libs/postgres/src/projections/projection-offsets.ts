import type { Anchor, Position } from '#libs/domain';
import { databaseName } from '#libs/runtime';
import type { FeedListId } from '../connection/feed-servers.js';
import { FeedServerAwayError } from '../connection/postgres-away.js';
import type { Store } from '../connection/store.js';

/** A stretch of a topic partition to project: from `firstOffset` up to, not including, `nextOffset`. */
export interface Stretch {
  readonly projection: string;
  readonly topic: string;
  readonly partition: number;
  readonly firstOffset: number;
  readonly nextOffset: number;
  /** The anchor of the stretch's last record, which is stored beside the offset. */
  readonly anchor?: string;
}

/** The result of a stretch. */
export type Projected =
  | {
      readonly kind: 'applied';
      /** Set if records were left out because they had been applied before. */
      readonly repeated?: true;
    }
  /** The projection has not read the records before the stretch: it continues at `nextOffset`. */
  | { readonly kind: 'behind'; readonly nextOffset: number };

/** @param from the projection's offset; records before it were left out */
export function applied({ firstOffset }: Stretch, from: number): Projected {
  return from > firstOffset ? { kind: 'applied', repeated: true } : { kind: 'applied' };
}

/**
 * Returns the parameters of `MOVED`. If the offset or the tables are not the expected ones, the statement changes nothing.
 * So only one of two projectors of a partition succeeds.
 */
export function moveParameters(stretch: Stretch, { expected, tables }: Expected): readonly unknown[] {
  return [
    stretch.projection,
    stretch.topic,
    stretch.partition,
    [String(expected), tables],
    [String(stretch.nextOffset), stretch.anchor ?? null],
  ];
}

/** The number of parameters of `MOVED`. */
export const MOVE_PARAMETERS = 5;

/**
 * SQL for the ids of a table of each projection that a rebuild can exchange. An exchange may leave the offset as it was,
 * with other rows before it. It locks the offsets, so a statement finds offset and tables either of before or of after.
 */
const TABLES = `concat(to_regclass('org_heads')::oid, ' ', to_regclass('deliveries')::oid)`;

/**
 * A compare-and-set of the offset, in the same tables. It is the first part of the one statement that writes all rows.
 */
export const MOVED = `moved as (
  update projection_offsets set next_offset = ($5::text[])[1]::bigint, anchor = ($5::text[])[2]
  where projection = $1::text and topic = $2::text and partition = $3::int
    and next_offset = ($4::text[])[1]::bigint and ${TABLES} = ($4::text[])[2]
  returning 1
)`;

/** What a compare-and-set expects to find. */
export interface Expected {
  /** The offset to move from. */
  readonly expected: number;
  /** The tables that have the rows before it, as `TABLES` names them. */
  readonly tables: string;
}

/** The position of a stretch relative to its projection's offset. */
export type Place =
  | (Expected & {
      readonly kind: 'here';
      /** Whether no other process can have projected records of the partition since this one did. */
      readonly continues: boolean;
    })
  | { readonly kind: 'done' }
  | { readonly kind: 'behind'; readonly nextOffset: number };

/** Returns the databases that hold a projection of these partitions, or of any, and can be used now. */
function storesOf(store: Store, projection: string, partitions?: readonly number[]): readonly Store[] {
  if (projection !== 'feed') return [store];
  const stores = store.feed.reachable.map((server) => server.store);
  if (partitions === undefined) return stores;
  return stores.filter((each) => partitions.some((partition) => store.feed.isAt(each, partition)));
}

/**
 * Returns a projection's offset in each partition of a topic: everything before it is in Postgres. Partitions in a
 * database that is away are missing.
 */
export async function projectedUpTo(
  store: Store,
  projection: string,
  topic: string,
): Promise<ReadonlyMap<number, number>> {
  const positions = await projectedPositions(store, projection, topic, () => null);
  return new Map([...positions].map(([partition, { next }]) => [partition, next]));
}

/**
 * Returns where a projection continues in each partition of a topic, and its last record there. Partitions in a
 * database that is away are missing.
 * @param partitions if given, only their databases are asked: the error of another one does not concern them
 */
export async function projectedPositions(
  store: Store,
  projection: string,
  topic: string,
  parse: (anchor: string | null) => Anchor | null,
  partitions?: readonly number[],
): Promise<ReadonlyMap<number, Position>> {
  if (projection === 'feed') await store.feed.settled();
  const found = await Promise.all(
    storesOf(store, projection, partitions).map((each) => rowsIn(each, projection, topic)),
  );
  return positionsOf(found.flat(), parse);
}

interface PositionRow {
  readonly partition: number;
  readonly next_offset: string;
  readonly anchor: string | null;
}

async function rowsIn(store: Store, projection: string, topic: string): Promise<readonly PositionRow[]> {
  return store.query<PositionRow>(
    'select partition, next_offset, anchor from projection_offsets where projection = $1 and topic = $2',
    [projection, topic],
  );
}

function positionsOf(
  rows: readonly PositionRow[],
  parse: (anchor: string | null) => Anchor | null,
): ReadonlyMap<number, Position> {
  return new Map(rows.map((row) => [row.partition, { next: Number(row.next_offset), anchor: parse(row.anchor) }]));
}

/**
 * Like `projectedPositions`, for the projector of these partitions. Those without a position begin at the first record: a
 * database that has lost its positions must not go on in the middle.
 */
export async function begunPositions(
  store: Store,
  projection: string,
  topic: string,
  partitions: readonly number[],
  parse: (anchor: string | null) => Anchor | null,
): Promise<ReadonlyMap<number, Position>> {
  const isFeed = projection === 'feed';
  if (isFeed) await store.feed.settled();
  const listId = isFeed ? store.feed.listId : undefined;
  const found = await Promise.all(
    storesOf(store, projection, partitions).map(async (each) => {
      const own = partitions.filter((partition) => !isFeed || store.feed.isAt(each, partition));
      const rows = await rowsIn(each, projection, topic);
      // One that takes no writes refuses the statement also if there is nothing to begin.
      if (own.every((partition) => rows.some((row) => row.partition === partition))) return rows;
      await each.query(BEGIN, [projection, topic, own, listId === undefined, listId ?? null]);
      return rowsIn(each, projection, topic);
    }),
  );
  return positionsOf(found.flat(), parse);
}

/** Begins nothing in a database that belongs to another list than the one of the last parameter. */
const BEGIN = `
  with started as (
    insert into projection_offsets (projection, topic, partition, next_offset)
    select $1::text, $2::text, unnest($3::int[]), 0
    where $4::boolean or not exists (select from installation where feed_list is distinct from $5::uuid)
    on conflict do nothing
  ) select 1`;

/**
 * Notes that a projection has read a partition up to an offset, unless something is known of it. Retention may have
 * removed all of its records: then none of them leads the projection there.
 */
export async function beginAt(
  store: Store,
  { projection, topic, partition, nextOffset, anchor }: Omit<Stretch, 'firstOffset'>,
): Promise<void> {
  await store.query(
    `with begun as (
       insert into projection_offsets (projection, topic, partition, next_offset, anchor)
       values ($1, $2, $3, $4, $5) on conflict do nothing
     ) select 1`,
    [projection, topic, partition, nextOffset, anchor ?? null],
  );
}

/** The projection's offset in each partition, as this process last knew it. */
export class ProjectionOffsets {
  readonly #known = new Map<string, Expected>();

  /** @param feed begins nothing in a database that belongs to another list than this one */
  constructor(
    private readonly store: Store,
    private readonly feed?: Store['feed'],
  ) {}

  /**
   * Whether the stretch can be applied now. If the known offset says yes, no query is needed. Otherwise it asks again,
   * since another process may have moved the offset.
   */
  async place(stretch: Stretch): Promise<Place> {
    const known = this.#known.get(keyOf(stretch));
    if (known !== undefined && known.expected >= stretch.firstOffset && known.expected < stretch.nextOffset) {
      return { kind: 'here', ...known, continues: true };
    }
    const read = await this.#read(stretch);
    this.#known.set(keyOf(stretch), read);
    if (read.expected < stretch.firstOffset) return { kind: 'behind', nextOffset: read.expected };
    return read.expected >= stretch.nextOffset ? { kind: 'done' } : { kind: 'here', ...read, continues: false };
  }

  moved(stretch: Stretch, { tables }: Expected): void {
    this.#known.set(keyOf(stretch), { expected: stretch.nextOffset, tables });
  }

  forget(stretch: Stretch): void {
    this.#known.delete(keyOf(stretch));
  }

  /** Reads the offset and the tables. A new projection begins with its first stretch. */
  async #read({ projection, topic, partition, firstOffset }: Stretch): Promise<Expected> {
    const listId = this.feed?.listId;
    const begin =
      listId === undefined
        ? 'values ($1, $2, $3, $4)'
        : `select $1, $2, $3::int, $4::bigint
           where not exists (select from installation where feed_list is distinct from $5::uuid)`;
    for (;;) {
      const [row] = await this.store.query<{ next_offset: string; tables: string }>(
        `with begun as (
           insert into projection_offsets (projection, topic, partition, next_offset) ${begin}
           on conflict do nothing returning next_offset
         )
         select next_offset, ${TABLES} as tables from begun
         union all
         select next_offset, ${TABLES} from projection_offsets where projection = $1 and topic = $2 and partition = $3`,
        [projection, topic, partition, firstOffset, ...(listId === undefined ? [] : [listId])],
      );
      if (row !== undefined) return { expected: Number(row.next_offset), tables: row.tables };
      // Another process has just begun, and the next read sees its row. Or the database was left.
      if (listId !== undefined) await this.#refuseIfLeft(listId);
    }
  }

  /** A process that was frozen while the feed moved must not begin partitions in a database of the old list. */
  async #refuseIfLeft(listId: FeedListId): Promise<void> {
    const sql = 'select from installation where feed_list is distinct from $1::uuid';
    const [left] = await this.store.query(sql, [listId]);
    if (left !== undefined) throw new FeedServerAwayError(databaseName(this.store.databaseUrl), 'the feed has moved');
  }
}

function keyOf({ projection, topic, partition }: Stretch): string {
  return `${projection} ${topic}/${partition}`;
}
