import type { EndpointId, OrgId } from '#libs/domain';
import type { Store } from '../connection/store.js';
import { ANY_STATUS, seen, SEEN_DELIVERIES } from '../projections/seen-deliveries.js';
import { IS_IN_FORCE } from './in-force.js';
import { FIRST_DAY } from './watermarks.js';

const SUBSCRIPTIONS_AT_ONCE = 500;

/** Subscriptions that are delivered to, with nothing to catch up. In any order, so that none waits for others. */
const CAUGHT_UP = `
  select m.org_id, m.endpoint_id, m.watermark_seq, m.catch_up_offset
  from mcp_subscriptions m
  join endpoints e on e.id = m.endpoint_id and e.is_active
  left join api_keys k on k.id = m.key_id
  where ${IS_IN_FORCE} and m.caught_up_seq >= m.catch_up_to_seq
  order by random() limit ${SUBSCRIPTIONS_AT_ONCE}`;

/** The events right after watermarks: an open event is there, or nowhere. Parameters: orgs, watermarks. */
const NEXT_EVENTS = `
  select (s.at - 1)::int as at, e.appended_at
  from unnest($1::uuid[], $2::bigint[]) with ordinality as s(org_id, watermark_seq, at)
  join org_heads h on h.org_id = s.org_id and h.last_seq > s.watermark_seq
  cross join lateral (
    select appended_at from events
    where org_id = s.org_id and seq = s.watermark_seq + 1 and appended_at >= ${FIRST_DAY} limit 1
  ) e`;

/** Parameters: endpoints, watermarks, the times of append of the events after them. */
const ENDED = `
  select asked.endpoint_id, asked.watermark_seq, d.run
  from unnest($1::text[], $2::bigint[], $3::timestamptz[]) as asked(endpoint_id, watermark_seq, appended_at)
  cross join lateral (
    select d.run from ${SEEN_DELIVERIES}
    where d.endpoint_id = asked.endpoint_id and ${ANY_STATUS} and d.created_at = asked.appended_at
      and d.seq = asked.watermark_seq + 1
      and ${seen('status')} = 'failed' and ${seen('last_error')} = 'endpoint_disabled'
    limit 1
  ) d`;

/** Parameter: endpoints. */
const CATCH_UP_AGAIN = `
  with again as (
    update mcp_subscriptions set caught_up_seq = watermark_seq, catch_up_offset = null, catch_up_to_seq = null
    where endpoint_id = any($1::text[]) and caught_up_seq >= catch_up_to_seq returning id
  ) select id from again`;

interface CaughtUp {
  readonly org_id: OrgId;
  readonly endpoint_id: EndpointId;
  readonly watermark_seq: string;
  /** A later catch-up usually has a greater one. The driver returns a `bigint` as text. */
  readonly catch_up_offset: string | null;
}

/** A run of a delivery that ended with its subscription. */
interface EndedRun {
  readonly name: string;
  /** When it was found after the latest catch-up, milliseconds of the monotonic clock. */
  sinceMs: number;
  /** That of the latest catch-up. */
  catchUpOffset: string | null;
  isCaughtUpAgain: boolean;
}

/**
 * Finds subscriptions whose first open event ended with a suspension or an expiry, but was still pending when they were
 * caught up, or was ended after their refresh. Nothing else would send it again.
 */
export class EndedEvents {
  /** One of each subscription: its first open event. */
  readonly #found = new Map<EndpointId, EndedRun>();

  constructor(private readonly store: Store) {}

  /**
   * Lets these subscriptions be caught up again, once for each run that ended. Processes take turns: each one waits after
   * the catch-up of another one, too.
   * @param afterMs how long it waits after it has found one: the run that follows may have begun, and not be stored yet
   * @returns the number of subscriptions
   */
  async catchUpAgain(afterMs: number): Promise<number> {
    const looked = await this.store.query<CaughtUp>(CAUGHT_UP);
    const ended = await this.#ended(looked);
    const nowMs = performance.now();
    const again = new Map<EndpointId, EndedRun>();
    for (const { endpoint_id: id, catch_up_offset: catchUpOffset } of looked) {
      const name = ended.get(id);
      if (name === undefined) {
        this.#found.delete(id);
        continue;
      }
      const known = this.#found.get(id);
      const run = known?.name === name ? known : { name, sinceMs: nowMs, catchUpOffset, isCaughtUpAgain: false };
      // It was caught up meanwhile.
      if (run.catchUpOffset !== catchUpOffset) {
        run.sinceMs = nowMs;
        run.catchUpOffset = catchUpOffset;
      }
      this.#found.set(id, run);
      if (!run.isCaughtUpAgain && nowMs - run.sinceMs >= afterMs) again.set(id, run);
    }
    if (again.size === 0) return 0;
    const changed = await this.store.query(CATCH_UP_AGAIN, [[...again.keys()]]);
    for (const run of again.values()) run.isCaughtUpAgain = true;
    return changed.length;
  }

  /** Returns the ended runs by endpoint. */
  async #ended(looked: readonly CaughtUp[]): Promise<ReadonlyMap<EndpointId, string>> {
    const next: (CaughtUp & { readonly appendedAt: Date })[] = [];
    await this.store.feed.eachReachable(
      looked,
      (one) => one.org_id,
      async (store, some) => {
        const events = await store.query<{ at: number; appended_at: Date }>(NEXT_EVENTS, [
          some.map((one) => one.org_id),
          some.map((one) => one.watermark_seq),
        ]);
        for (const { at, appended_at: appendedAt } of events) {
          const one = some[at];
          if (one !== undefined) next.push({ ...one, appendedAt });
        }
      },
    );
    if (next.length === 0) return new Map();
    const rows = await this.store.query<{ endpoint_id: EndpointId; watermark_seq: string; run: number }>(ENDED, [
      next.map((one) => one.endpoint_id),
      next.map((one) => one.watermark_seq),
      next.map((one) => one.appendedAt),
    ]);
    return new Map(rows.map((row) => [row.endpoint_id, `${row.watermark_seq}/${row.run}`]));
  }
}
