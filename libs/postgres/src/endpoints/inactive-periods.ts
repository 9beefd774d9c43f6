import type { Store } from '../connection/store.js';

/** The most rows that one statement deletes. */
const PRUNE_ROWS = 10_000;

/** The periods in which endpoints were inactive. Operators and the projector begin them, enabling ends them. */
export class InactivePeriods {
  constructor(private readonly store: Store) {}

  /**
   * Removes periods of all orgs that ended before that time, at most 10,000.
   * @returns whether no more are left
   */
  async prune(before: Date): Promise<boolean> {
    // Counts what was found, because another process may be deleting the same rows.
    const [row] = await this.store.query<{ found: number }>(
      `with old as materialized (
         select endpoint_id, activation from endpoint_inactive_periods where ended_at < $1 order by ended_at limit ${PRUNE_ROWS}
       ), pruned as (
         delete from endpoint_inactive_periods p using old
         where p.endpoint_id = old.endpoint_id and p.activation = old.activation
       ) select count(*)::int as found from old`,
      [before],
    );
    return row === undefined || row.found < PRUNE_ROWS;
  }
}
