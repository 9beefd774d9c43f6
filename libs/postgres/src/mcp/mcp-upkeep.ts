import {
  seqFromText,
  type DeliveryStatus,
  type EndpointId,
  type EventFilters,
  type EventId,
  type McpError,
  type OrgId,
  type Seq,
} from '#libs/domain';
import { appendAudit } from '../access/audit-log.js';
import type { SecretCipher } from '../access/secret-cipher.js';
import { ADVISORY_LOCKS } from '../connection/advisory-locks.js';
import type { Store } from '../connection/store.js';
import { ANY_STATUS, seen, SEEN_DELIVERIES } from '../projections/seen-deliveries.js';
import { EndedEvents } from './ended-events.js';
import { deleteMcpEndpoint } from './mcp-subscriptions.js';
import { advanceWatermarks, IS_FOR_AGENTS, type Query } from './watermarks.js';

/** A subscription with events that the router may not send. */
export interface LateSubscription {
  readonly id: string;
  readonly orgId: OrgId;
  readonly endpointId: EndpointId;
  /** `null` for none. */
  readonly filter: string | null;
  readonly caughtUpSeq: Seq;
  /** The end of the log after the subscription was stored; `null` if it is not known yet. */
  readonly catchUpOffset: number | null;
  /** `null` until the feed has the log up to that offset. */
  readonly catchUpToSeq: Seq | null;
}

/** An event of a subscription, and what became of its delivery. */
export interface LateEvent {
  readonly eventId: EventId;
  readonly event: string;
  readonly seq: Seq;
  readonly createdAtMs: number;
  readonly envelope: Buffer;
  /** `null` if there is no delivery. */
  readonly delivery: {
    readonly run: number;
    readonly status: DeliveryStatus;
    readonly lastError: string | null;
  } | null;
}

interface LateRow {
  readonly event_id: EventId;
  readonly event_type: string;
  readonly seq: string;
  readonly appended_at: Date;
  readonly envelope: Buffer;
}

interface NoticeRow {
  readonly id: string;
  readonly org_id: OrgId;
  readonly endpoint_id: EndpointId;
  readonly url: string;
  readonly notice_id: string;
  readonly notice_attempts: number;
  readonly gap_seq: string | null;
  readonly ended_error: McpError | null;
  readonly secret_ciphertext: Buffer;
  readonly previous_secret_ciphertext: Buffer | null;
}

/** A message to a subscriber that is due. */
export interface McpNotice {
  readonly subscriptionId: string;
  readonly orgId: OrgId;
  readonly endpointId: EndpointId;
  readonly url: string;
  /** Empty for a message that is given up. */
  readonly secrets: readonly string[];
  /** The value of `webhook-id`, the same in each attempt. */
  readonly messageId: string;
  /** From 1. */
  readonly attempt: number;
  readonly content: { readonly gapSeq: Seq } | { readonly error: McpError };
}

const SUSPENDED_FROM_ATTEMPTS = 100;
const SUSPENDED_FROM_FAILURES = 0.95;
/** Enough to judge by. A busy subscription makes many more an hour, and they are counted every 2 s. */
const ATTEMPTS_COUNTED = 1_000;
const SUBSCRIPTIONS_AT_ONCE = 200;
const LATE_AT_ONCE = 100;
const NOTICES_AT_ONCE = 50;
/** A subscription without expiry that was suspended for this long is dropped. */
const DROPPED_AFTER = '24 hours';
/** A verification is forgotten after this long without a subscription. */
const VERIFIED_FOR = '24 hours';

/** Keeps all organizations' subscriptions in order. For one process at a time. */
export class McpUpkeep {
  readonly #ended: EndedEvents;

  constructor(
    private readonly store: Store,
    private readonly cipher: SecretCipher,
    private readonly filters: EventFilters,
  ) {
    this.#ended = new EndedEvents(store);
  }

  /** Runs `act` unless another process does so. */
  async exclusively(act: () => Promise<void>): Promise<void> {
    await this.store.exclusively(ADVISORY_LOCKS.mcpUpkeep, act);
  }

  /**
   * Ends subscriptions whose key is no longer valid or whose type is gone, and those without expiry that have been
   * suspended for long. Deliveries have stopped already.
   */
  async end(
    names: readonly string[],
    errors: { readonly revoked: McpError; readonly removed: McpError; readonly failing: McpError },
  ): Promise<number> {
    return this.store.transaction(async (runner) => {
      const [ended] = (await runner.query(
        `update mcp_subscriptions s set ended_at = now(), ended_error = case e.reason
             when 'access_revoked' then $2::jsonb when 'type_removed' then $3::jsonb else $4::jsonb end,
           gap_seq = null, notice_id = null, notice_attempts = 0, notice_due_at = now()
         from (
           select s.id, case
             when k.id is null or k.revoked_at is not null or k.expires_at <= now() or not 'events:read' = any(k.scopes)
               then 'access_revoked'
             when not s.name = any($1::text[]) then 'type_removed'
             when s.granted_until is null and not n.is_active and n.disabled_at < now() - interval '${DROPPED_AFTER}'
               then 'failing'
             end as reason
           from mcp_subscriptions s
           join endpoints n on n.id = s.endpoint_id
           left join api_keys k on k.id = s.key_id
           where s.ended_at is null
         ) e
         where s.id = e.id and e.reason is not null
         returning s.id, s.org_id, s.endpoint_id, s.url, s.name, e.reason`,
        [names, JSON.stringify(errors.revoked), JSON.stringify(errors.removed), JSON.stringify(errors.failing)],
      )) as [
        { id: string; org_id: OrgId; endpoint_id: EndpointId; url: string; name: string; reason: string }[],
        number,
      ];
      for (const { id, org_id: orgId, endpoint_id: endpointId, url, name, reason } of ended) {
        await runner.query('update endpoints set is_active = false, disabled_at = now() where id = $1', [endpointId]);
        await appendAudit(runner, null, {
          orgId,
          action: 'mcp_subscription.ended',
          target: id,
          details: { url, name, reason },
        });
      }
      return ended.length;
    });
  }

  /** Removes subscriptions whose time is over, and verifications that serve none. */
  async expire(): Promise<number> {
    const expired = await this.store.query<{ org_id: OrgId; endpoint_id: EndpointId }>(
      'select org_id, endpoint_id from mcp_subscriptions where granted_until <= now() and ended_at is null limit 500',
    );
    for (const { org_id: orgId, endpoint_id: endpointId } of expired) {
      await this.store.transaction(async (runner) => {
        // It may have been refreshed since.
        const [row] = (await runner.query(
          'select 1 from mcp_subscriptions where endpoint_id = $1 and granted_until <= now() for update',
          [endpointId],
        )) as unknown[];
        if (row !== undefined) await deleteMcpEndpoint(runner, orgId, endpointId);
      });
    }
    await this.store.query(
      `delete from mcp_verified_callbacks v where verified_at < now() - interval '${VERIFIED_FOR}' and not exists (
         select from mcp_subscriptions s where s.key_id = v.key_id and s.url = v.url
       )`,
    );
    return expired.length;
  }

  /** Suspends subscriptions of which nearly all of the newest attempts of the last hour failed, if there were many. */
  async suspend(): Promise<number> {
    const suspended = await this.store.query<{ id: string }>(
      `with failing as (
         select s.endpoint_id
         from mcp_subscriptions s
         join endpoints e on e.id = s.endpoint_id and e.is_active
         join endpoint_health h on h.endpoint_id = s.endpoint_id
           and h.last_failure_at > coalesce(h.last_success_at, '-infinity')
         cross join lateral (
           select count(*) as made, count(*) filter (where (response_status between 200 and 299) is not true) as failed
           from (
             select response_status from delivery_attempts
             where endpoint_id = s.endpoint_id and started_at > greatest(now() - interval '1 hour', s.resumed_at)
             order by started_at desc limit ${ATTEMPTS_COUNTED}
           ) newest
         ) attempts
         where made >= ${SUSPENDED_FROM_ATTEMPTS} and failed > made * ${SUSPENDED_FROM_FAILURES}
       ), suspended as (
         update endpoints set is_active = false, disabled_at = now(), disabled_reason = 'failure_rate'
         where id in (select endpoint_id from failing) returning id
       ) select id from suspended`,
    );
    return suspended.length;
  }

  /**
   * Moves all watermarks but those at which it fails.
   * @param size the number of subscriptions that one statement moves
   * @returns the number of subscriptions that miss events
   */
  async advance(keptSince: Date, onFailure: (error: unknown) => void, size = SUBSCRIPTIONS_AT_ONCE): Promise<number> {
    const query: Query = (sql, parameters) => this.store.query(sql, parameters);
    const use = { query, feed: this.store.feed, filters: this.filters };
    return advanceWatermarks(use, keptSince, { size, onFailure });
  }

  /**
   * Lets subscriptions be caught up again whose first open event ended with a suspension or an expiry that is over.
   * @param afterMs how long it waits after it has found one
   * @returns their number
   */
  async catchUpAgain(afterMs: number): Promise<number> {
    return this.#ended.catchUpAgain(afterMs);
  }

  /**
   * Returns subscriptions that may have events which the router does not send, without those whose feed cannot be read
   * now.
   */
  async late(): Promise<readonly LateSubscription[]> {
    const rows = await this.store.query<{
      id: string;
      org_id: OrgId;
      endpoint_id: EndpointId;
      filter: string | null;
      caught_up_seq: string;
      catch_up_offset: string | null;
      catch_up_to_seq: string | null;
    }>(
      `select s.id, s.org_id, s.endpoint_id, e.filter, s.caught_up_seq, s.catch_up_offset, s.catch_up_to_seq
       from mcp_subscriptions s join endpoints e on e.id = s.endpoint_id and e.is_active
       where s.ended_at is null and (s.catch_up_to_seq is null or s.caught_up_seq < s.catch_up_to_seq)
       -- In any order, so that none waits for others that are long or that wait themselves.
       order by random() limit ${LATE_AT_ONCE}`,
    );
    const readable = rows.filter((row) => !this.store.feed.isAway(row.org_id));
    return readable.map((row) => ({
      id: row.id,
      orgId: row.org_id,
      endpointId: row.endpoint_id,
      filter: row.filter,
      caughtUpSeq: seqFromText(row.caught_up_seq),
      catchUpOffset: row.catch_up_offset === null ? null : Number(row.catch_up_offset),
      catchUpToSeq: row.catch_up_to_seq === null ? null : seqFromText(row.catch_up_to_seq),
    }));
  }

  /** Stores the end of the log: the router sends every later event. */
  async routedFrom({ id, endpointId }: LateSubscription, offset: number): Promise<void> {
    await this.store.query(
      `update mcp_subscriptions set catch_up_offset = $3
       where id = $1 and endpoint_id = $2 and catch_up_offset is null`,
      [id, endpointId, offset],
    );
  }

  /** Stores the head of the feed as the last seq to catch up, once the feed has the log up to that end. */
  async catchUpToHead({ id, orgId, endpointId }: LateSubscription, offset: number): Promise<void> {
    const head = await this.store.feed.headSql(orgId);
    await this.store.query(
      `update mcp_subscriptions s set catch_up_to_seq = greatest(s.caught_up_seq, ${head})
       where id = $1 and endpoint_id = $2 and catch_up_offset = $3 and catch_up_to_seq is null`,
      [id, endpointId, offset],
    );
  }

  /** Returns the next events to catch up, in the order of their seq. */
  async lateEvents(subscription: LateSubscription, keptSince: Date, limit: number): Promise<readonly LateEvent[]> {
    const { orgId, endpointId, caughtUpSeq, catchUpToSeq } = subscription;
    const [about] = await this.store.query<{ name: string; widget_id: string | null }>(
      'select name, widget_id from mcp_subscriptions where endpoint_id = $1',
      [endpointId],
    );
    if (about === undefined) return [];
    const feed = await this.store.feed.of(orgId);
    const events = await feed.query<LateRow>(
      `select event_id, event_type, seq, appended_at, envelope from events
       where org_id = $1 and event_type = $2 and ($3::uuid is null or widget_id = $3) and seq > $4 and seq <= $5
         and appended_at >= $6 and ${IS_FOR_AGENTS}
       order by seq limit $7`,
      [orgId, about.name, about.widget_id, caughtUpSeq, catchUpToSeq, keptSince, limit],
    );
    // Read after the events, so that one that is delivered meanwhile is not taken for one without a delivery.
    const deliveries = await this.store.query<{
      at: number;
      run: number;
      status: DeliveryStatus;
      last_error: string | null;
    }>(
      `select (asked.at - 1)::int as at, d.* from unnest($2::bigint[], $3::timestamptz[]) with ordinality
         as asked(seq, appended_at, at)
       cross join lateral (
         select d.run, ${seen('status')} as status, ${seen('last_error')} as last_error from ${SEEN_DELIVERIES}
         where d.endpoint_id = $1 and ${ANY_STATUS} and d.created_at = asked.appended_at and d.seq = asked.seq
         limit 1
       ) d`,
      [endpointId, events.map(({ seq }) => seq), events.map((event) => event.appended_at)],
    );
    const byPlace = new Map(
      deliveries.map(({ at, run, status, last_error: lastError }) => [at, { run, status, lastError }]),
    );
    return events.map((row, at) => ({
      eventId: row.event_id,
      event: row.event_type,
      seq: seqFromText(row.seq),
      createdAtMs: row.appended_at.getTime(),
      envelope: row.envelope,
      delivery: byPlace.get(at) ?? null,
    }));
  }

  async caughtUp({ id, endpointId, caughtUpSeq }: LateSubscription, seq: Seq): Promise<void> {
    await this.store.query(
      `update mcp_subscriptions set caught_up_seq = $4 where id = $1 and endpoint_id = $2 and caught_up_seq = $3`,
      [id, endpointId, caughtUpSeq, seq],
    );
  }

  /**
   * Claims messages that are due. Each is due again later, so that a process that dies loses none.
   * @param waitsMs the wait after each attempt; a message that is due after the last one is given up
   * @param onUnreadable called for a message whose secret cannot be read: this attempt is not made
   */
  async claimNotices(
    waitsMs: readonly number[],
    onUnreadable: (error: unknown, subscriptionId: string) => void,
  ): Promise<readonly McpNotice[]> {
    const rows = await this.store.query<NoticeRow>(
      `with due as (
         select s.id, e.secret_ciphertext,
           case when e.previous_secret_until > now() then e.previous_secret_ciphertext end as previous_secret_ciphertext
         from mcp_subscriptions s join endpoints e on e.id = s.endpoint_id
         where s.notice_due_at <= now() and (s.ended_at is not null or s.gap_seq is not null and e.is_active)
         limit ${NOTICES_AT_ONCE}
       ), claimed as (
         update mcp_subscriptions s set notice_attempts = s.notice_attempts + 1,
           notice_due_at = now() + interval '1 ms' * ($1::int[])[least(s.notice_attempts + 1, cardinality($1::int[]))],
           notice_id = coalesce(s.notice_id, 'msg_' || case when s.ended_at is null then 'gap_' else 'terminated_' end
             || replace(gen_random_uuid()::text, '-', ''))
         from due where s.id = due.id
         returning s.id, s.org_id, s.endpoint_id, s.url, s.notice_id, s.notice_attempts, s.gap_seq, s.ended_error,
           due.secret_ciphertext, due.previous_secret_ciphertext
       ) select * from claimed`,
      [waitsMs],
    );
    return rows.flatMap((row): readonly McpNotice[] => {
      try {
        return [this.#notice(row, row.notice_attempts > waitsMs.length)];
      } catch (error) {
        onUnreadable(error, row.id);
        return [];
      }
    });
  }

  #notice(row: NoticeRow, isGivenUp: boolean): McpNotice {
    const ciphertexts = isGivenUp ? [] : [row.secret_ciphertext, row.previous_secret_ciphertext];
    return {
      subscriptionId: row.id,
      orgId: row.org_id,
      endpointId: row.endpoint_id,
      url: row.url,
      secrets: ciphertexts.flatMap((ciphertext) => (ciphertext === null ? [] : [this.cipher.decrypt(ciphertext)])),
      messageId: row.notice_id,
      attempt: row.notice_attempts,
      content: row.ended_error === null ? { gapSeq: seqFromText(row.gap_seq ?? '0') } : { error: row.ended_error },
    };
  }

  /** Ends the message, and an ended subscription with it. A newer message stays. */
  async noticed({ endpointId, orgId, messageId, content }: McpNotice): Promise<void> {
    await this.store.transaction(async (runner) => {
      const [, changed] = (await runner.query(
        `update mcp_subscriptions set gap_seq = null, notice_id = null, notice_attempts = 0, notice_due_at = null
         where endpoint_id = $1 and notice_id = $2`,
        [endpointId, messageId],
      )) as [unknown, number];
      if (changed > 0 && 'error' in content) await deleteMcpEndpoint(runner, orgId, endpointId);
    });
  }
}
