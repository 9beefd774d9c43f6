import type { Anchor, Position } from '#libs/domain';
import type { Store } from '../connection/store.js';

/** A stretch of a topic partition that is to be projected: `firstOffset` up to, not including, `nextOffset`. */
export interface Stretch {
  readonly projection: string;
  readonly topic: string;
  readonly partition: number;
  readonly firstOffset: number;
  readonly nextOffset: number;
  /** The last record of the stretch, as it is kept beside the offset. */
  readonly anchor?: string;
}

/** The result of a stretch. */
export type Projected =
  | {
      readonly kind: 'applied';
      /** Set if records of the stretch were left out, since they had been applied before. */
      readonly repeated?: true;
    }
  /** The projection has not seen what comes before the stretch: it goes on at `nextOffset`. */
  | { readonly kind: 'behind'; readonly nextOffset: number };

/** @param from where the projection was: what the stretch has before that was left out */
export function applied({ firstOffset }: Stretch, from: number): Projected {
  return from > firstOffset ? { kind: 'applied', repeated: true } : { kind: 'applied' };
}

/**
 * The parameters of `MOVED`. The offset moves from the one that was expected, or nothing of the statement happens: of
 * two projectors of the same partition only one can have expected right.
 */
export function moveParameters(stretch: Stretch, expected: number): readonly unknown[] {
  return [
    stretch.projection,
    stretch.topic,
    stretch.partition,
    expected,
    [String(stretch.nextOffset), stretch.anchor ?? null],
  ];
}

/** How many parameters `MOVED` takes. */
export const MOVE_PARAMETERS = 5;

/** The compare-and-set of the offset, as the first part of the one statement that writes all rows. */
export const MOVED = `moved as (
  update projection_offsets set next_offset = ($5::text[])[1]::bigint, anchor = ($5::text[])[2]
  where projection = $1::text and topic = $2::text and partition = $3::int and next_offset = $4::bigint
  returning 1
)`;

/** How a stretch lies to the offset of its projection. */
export type Place =
  | {
      readonly kind: 'here';
      /** The offset to move from. */
      readonly expected: number;
      /** Whether nobody but this process can have projected anything of the partition since it last did. */
      readonly continues: boolean;
    }
  | { readonly kind: 'done' }
  | { readonly kind: 'behind'; readonly nextOffset: number };

/** How far a projection is in each partition of a topic: everything before these offsets is in Postgres. */
export async function projectedUpTo(
  store: Store,
  projection: string,
  topic: string,
): Promise<ReadonlyMap<number, number>> {
  const rows = await store.query<{ partition: number; next_offset: string }>(
    'select partition, next_offset from projection_offsets where projection = $1 and topic = $2',
    [projection, topic],
  );
  return new Map(rows.map((row) => [row.partition, Number(row.next_offset)]));
}

/** Where a projection goes on in each partition of a topic, and what it has seen last. */
export async function projectedPositions(
  store: Store,
  projection: string,
  topic: string,
  parse: (anchor: string | null) => Anchor | null,
): Promise<ReadonlyMap<number, Position>> {
  const rows = await store.query<{ partition: number; next_offset: string; anchor: string | null }>(
    'select partition, next_offset, anchor from projection_offsets where projection = $1 and topic = $2',
    [projection, topic],
  );
  return new Map(rows.map((row) => [row.partition, { next: Number(row.next_offset), anchor: parse(row.anchor) }]));
}

/** Where a projection goes on in each partition, as this process last knew it. */
export class ProjectionOffsets {
  readonly #known = new Map<string, number>();

  constructor(private readonly store: Store) {}

  /**
   * Whether the stretch can be applied now. If the known offset says yes, no query is needed. Otherwise it asks again,
   * since another process may have moved the offset.
   */
  async place(stretch: Stretch): Promise<Place> {
    const known = this.#known.get(keyOf(stretch));
    if (known !== undefined && known >= stretch.firstOffset && known < stretch.nextOffset) {
      return { kind: 'here', expected: known, continues: true };
    }
    const expected = await this.#read(stretch);
    this.#known.set(keyOf(stretch), expected);
    if (expected < stretch.firstOffset) return { kind: 'behind', nextOffset: expected };
    return expected >= stretch.nextOffset ? { kind: 'done' } : { kind: 'here', expected, continues: false };
  }

  moved(stretch: Stretch): void {
    this.#known.set(keyOf(stretch), stretch.nextOffset);
  }

  forget(stretch: Stretch): void {
    this.#known.delete(keyOf(stretch));
  }

  /** A projection that has not begun begins with the first stretch that it is given. */
  async #read({ projection, topic, partition, firstOffset }: Stretch): Promise<number> {
    for (;;) {
      const [row] = await this.store.query<{ next_offset: string }>(
        `with begun as (
           insert into projection_offsets (projection, topic, partition, next_offset) values ($1, $2, $3, $4)
           on conflict do nothing returning next_offset
         )
         select next_offset from begun
         union all
         select next_offset from projection_offsets where projection = $1 and topic = $2 and partition = $3`,
        [projection, topic, partition, firstOffset],
      );
      // Without a row, another process has begun it just now: the next look sees it.
      if (row !== undefined) return Number(row.next_offset);
    }
  }
}

function keyOf({ projection, topic, partition }: Stretch): string {
  return `${projection} ${topic}/${partition}`;
}
