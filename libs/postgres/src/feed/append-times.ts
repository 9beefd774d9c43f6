import type { OrgId, Seq } from '#libs/domain';
import type { Store } from '../connection/store.js';

/** Finds when an event was appended to the log. The time leads to its offset in the topic. */
export class AppendTimes {
  constructor(private readonly store: Store) {}

  /**
   * Returns when the event of that seq was appended, in epoch milliseconds. If the feed no longer has it, the last
   * earlier one counts; `undefined` without any.
   * @param partition the org's partition of the log
   */
  async upTo(orgId: OrgId, partition: number, seq: Seq): Promise<number | undefined> {
    await this.store.feed.settled();
    const [row] = await this.store.feed
      .ofPartition(partition)
      .query<{ appended_at: Date }>(
        'select appended_at from events where org_id = $1 and seq <= $2 order by seq desc limit 1',
        [orgId, seq],
      );
    return row?.appended_at.getTime();
  }
}
