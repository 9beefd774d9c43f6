import type { QueryRunner } from 'typeorm';

/** A stretch of a topic partition that is to be projected: `firstOffset` up to, not including, `nextOffset`. */
export interface Stretch {
  readonly projection: string;
  readonly topic: string;
  readonly partition: number;
  readonly firstOffset: number;
  readonly nextOffset: number;
}

/** What became of a stretch. */
export type Projected =
  | { readonly kind: 'applied' }
  /** The projection has not seen what comes before the stretch: it goes on at `nextOffset`. */
  | { readonly kind: 'behind'; readonly nextOffset: number };

/**
 * Locks the projection's place in the partition until the end of the transaction, so that of two projectors of the
 * same partition the second sees what the first did.
 * @returns the offset at which the projection goes on; `null` when it has not begun
 */
export async function lockOffset(runner: QueryRunner, stretch: Stretch): Promise<number | null> {
  const { projection, topic, partition } = stretch;
  const rows = (await runner.query(
    `select next_offset from projection_offsets
     where projection = $1 and topic = $2 and partition = $3 for update`,
    [projection, topic, partition],
  )) as { next_offset: string }[];
  return rows[0] === undefined ? null : Number(rows[0].next_offset);
}

export async function saveOffset(runner: QueryRunner, stretch: Stretch): Promise<void> {
  const { projection, topic, partition, nextOffset } = stretch;
  await runner.query(
    `insert into projection_offsets (projection, topic, partition, next_offset) values ($1, $2, $3, $4)
     on conflict (projection, topic, partition) do update set next_offset = excluded.next_offset`,
    [projection, topic, partition, nextOffset],
  );
}
