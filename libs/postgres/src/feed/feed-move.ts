import { SEQ_NONE, seqFromText, type OrgId, type Seq } from '#libs/domain';
import type { Store } from '../connection/store.js';

/** The number of heads that one statement writes. */
const HEADS_AT_ONCE = 10_000;

/** Completes the feed of a database that has got another part of it. */
export class FeedMove {
  constructor(private readonly store: Store) {}

  /**
   * Removes the heads of orgs that are elsewhere, and sets those of orgs whose events have all left with retention. The
   * database may know them from an earlier list, as they were then.
   * @param isHere whether the database has the feed of the org
   */
  async settleHeads(isHere: (orgId: OrgId) => boolean, lastSeqs: ReadonlyMap<OrgId, Seq>): Promise<void> {
    const rows = await this.store.query<{ org_id: OrgId; last_seq: string }>('select org_id, last_seq from org_heads');
    const foreign = rows.map((row) => row.org_id).filter((orgId) => !isHere(orgId));
    const known = new Map(rows.map((row) => [row.org_id, seqFromText(row.last_seq)]));
    const silent = [...lastSeqs].filter(
      ([orgId, lastSeq]) => isHere(orgId) && lastSeq > (known.get(orgId) ?? SEQ_NONE),
    );
    for (let from = 0; from < foreign.length; from += HEADS_AT_ONCE) {
      await this.store.query('with gone as (delete from org_heads where org_id = any($1)) select 1', [
        foreign.slice(from, from + HEADS_AT_ONCE),
      ]);
    }
    for (let from = 0; from < silent.length; from += HEADS_AT_ONCE) {
      const some = silent.slice(from, from + HEADS_AT_ONCE);
      await this.store.query(
        `with added as (
           insert into org_heads (org_id, last_seq) select * from unnest($1::uuid[], $2::bigint[])
           on conflict (org_id) do update set last_seq = excluded.last_seq
         ) select 1`,
        [some.map(([orgId]) => orgId), some.map(([, seq]) => seq)],
      );
    }
  }

  /** Removes the feed from a database that is to have none. */
  async empty(): Promise<void> {
    await this.store.transaction(async (runner) => {
      await runner.query('truncate events, org_heads, feed_days');
      await runner.query(`delete from projection_offsets where projection = 'feed'`);
    });
  }
}
