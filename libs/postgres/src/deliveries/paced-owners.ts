import type { Store } from '../connection/store.js';

/**
 * Stores which assignment owns each partition of a topic, and makes the attempts of its paced endpoints. An owner that has
 * left makes no more of them, and none is under way. One that died, or stands still, never leaves.
 */
export class PacedOwners {
  constructor(private readonly store: Store) {}

  /**
   * Becomes the owner of those of the partitions whose owner has left.
   * @param owner an id that no other assignment has
   * @returns the partitions that it owns, by this call or an earlier one
   */
  async take(owner: string, topic: string, partitions: readonly number[]): Promise<readonly number[]> {
    const rows = await this.store.prepared<{ partition: number }>(
      'take_paced',
      `update paced_owners set owner = $1, has_left = false
       where topic = $2 and partition = any($3::int[]) and (has_left or owner = $1)
       returning partition`,
      [owner, topic, partitions],
    );
    return rows.map(({ partition }) => partition);
  }

  /**
   * Becomes, or stays, the owner of the partitions. Owners before can no longer leave.
   * @returns those of the partitions that were not its own
   */
  async seize(owner: string, topic: string, partitions: readonly number[]): Promise<readonly number[]> {
    const rows = await this.store.prepared<{ partition: number }>(
      'seize_paced',
      `insert into paced_owners (topic, partition, owner, has_left)
       select $2, seized.partition, $1, false from unnest($3::int[]) as seized(partition)
       order by seized.partition
       on conflict (topic, partition) do update set owner = excluded.owner, has_left = false
       where paced_owners.owner <> excluded.owner or paced_owners.has_left
       returning partition`,
      [owner, topic, partitions],
    );
    return rows.map(({ partition }) => partition);
  }

  /** Leaves those of the partitions that the owner still owns. */
  async leave(owner: string, topic: string, partitions: readonly number[]): Promise<void> {
    await this.store.prepared(
      'leave_paced',
      `update paced_owners set has_left = true where topic = $2 and partition = any($3::int[]) and owner = $1`,
      [owner, topic, partitions],
    );
  }
}
