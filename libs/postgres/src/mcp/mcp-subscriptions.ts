import type { QueryRunner } from 'typeorm';
import {
  seqFromText,
  type EndpointId,
  type EventFilters,
  type McpError,
  type OrgId,
  type Seq,
  type WidgetId,
} from '#libs/domain';
import { OPERATOR, type AuditActor } from '../access/audit-actor.js';
import { appendAudit } from '../access/audit-log.js';
import { refuseEndedOfOrg } from '../access/refuse-ended.js';
import type { SecretCipher } from '../access/secret-cipher.js';
import { lockFor } from '../connection/advisory-locks.js';
import type { Store } from '../connection/store.js';
import { forgetEndpoints } from '../endpoints/forget-endpoints.js';
import { EndpointEntity } from '../entities/endpoint.entity.js';
import { advanceWatermark, type Query } from './watermarks.js';

/** A webhook subscription of an agent, as it is stored. */
export interface McpSubscription {
  readonly id: string;
  readonly endpointId: EndpointId;
  readonly keyId: string;
  readonly url: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
  readonly refreshedAt: Date;
  /** `null` for no expiry. */
  readonly grantedUntil: Date | null;
  /** Every event of the subscription up to here is acknowledged or given up. */
  readonly watermarkSeq: Seq;
  /** Whether it is delivered to: not suspended, and not ended. */
  readonly isActive: boolean;
  readonly isEnded: boolean;
  readonly lastSuccessAt: Date | null;
  /** The error of the latest attempt; `null` if that succeeded. */
  readonly lastError: string | null;
  /** The start of the first attempt that failed since the latest success; `null` if the latest attempt succeeded. */
  readonly failedSince: Date | null;
}

export interface NewMcpSubscription {
  readonly id: string;
  readonly orgId: OrgId;
  /** Of the endpoint, if one is created. */
  readonly endpointId: EndpointId;
  readonly keyId: string;
  readonly url: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly widgetId: WidgetId | null;
  /** An expression in CEL that leaves out events; `null` for none. */
  readonly filter: string | null;
  readonly secret: string;
  readonly grantedUntil: Date | null;
  /** The seq after which delivery begins, if the subscription is new or has lapsed. */
  readonly since: Seq;
  readonly at: Date;
  /** Until when the secret before this one signs, too. */
  readonly overlapsUntil: Date;
  /** Events that were appended earlier are past retention. */
  readonly keptSince: Date;
}

/** What became of a subscription. */
export type Subscribed =
  | { readonly kind: 'created'; readonly subscription: McpSubscription }
  | {
      readonly kind: 'refreshed';
      readonly subscription: McpSubscription;
      /** Whether it missed events, and no message has reported that. */
      readonly isTruncated: boolean;
      /** Whether its delivery had been suspended until this refresh. */
      readonly wasSuspended: boolean;
    }
  | { readonly kind: 'limit_reached' };

/** The most callbacks of an org that are remembered without a subscription. */
const MAX_VERIFIED = 1_000;

const SELECT = `
  select s.id, s.endpoint_id as "endpointId", s.key_id as "keyId", s.url, s.name, s.arguments, s.created_at as "createdAt",
    s.refreshed_at as "refreshedAt", s.granted_until as "grantedUntil", s.watermark_seq as "watermarkSeq",
    e.is_active and s.ended_at is null as "isActive", s.ended_at is not null as "isEnded",
    h.last_success_at as "lastSuccessAt", case when failed.started_at is not null then h.last_error end as "lastError",
    failed.started_at as "failedSince"
  from mcp_subscriptions s
  join endpoints e on e.id = s.endpoint_id
  left join endpoint_health h on h.endpoint_id = s.endpoint_id
  left join lateral (
    select a.started_at from delivery_attempts a
    where h.last_failure_at > coalesce(h.last_success_at, '-infinity') and a.endpoint_id = s.endpoint_id
      and a.started_at > coalesce(h.last_success_at, '-infinity')
      and (a.response_status between 200 and 299) is not true
    order by a.started_at limit 1
  ) failed on true`;

/** @param rest of the statement: which subscriptions, in which order */
async function select(
  runner: QueryRunner,
  rest: string,
  parameters: readonly unknown[] = [],
): Promise<readonly McpSubscription[]> {
  const rows = (await runner.query(`${SELECT} ${rest}`, [...parameters])) as (Omit<McpSubscription, 'watermarkSeq'> & {
    readonly watermarkSeq: string;
  })[];
  return rows.map((row) => ({ ...row, watermarkSeq: seqFromText(row.watermarkSeq) }));
}

/**
 * Deletes the endpoint of a subscription, and with it the subscription. Its history is removed later, and its callback is
 * remembered from now on.
 */
export async function deleteMcpEndpoint(runner: QueryRunner, orgId: OrgId, id: EndpointId): Promise<void> {
  await runner.query(
    `update mcp_verified_callbacks v set verified_at = now() from mcp_subscriptions s
     where s.endpoint_id = $1 and v.org_id = s.org_id and v.key_id = s.key_id and v.url = s.url`,
    [id],
  );
  await runner.query(`delete from endpoints where id = $1 and kind = 'mcp'`, [id]);
  await forgetEndpoints(runner, orgId, [id]);
}

/** The webhook subscriptions of an org's agents. Each is an endpoint of its own kind. */
export class McpSubscriptions {
  constructor(
    private readonly store: Store,
    private readonly cipher: SecretCipher,
    private readonly filters: EventFilters,
    private readonly actor: AuditActor | null = OPERATOR,
  ) {}

  /** Returns the same records, with changes logged in the name of `actor` instead of the operator. */
  by(actor: AuditActor): McpSubscriptions {
    return new McpSubscriptions(this.store, this.cipher, this.filters, actor);
  }

  /** Lists the org's subscriptions, oldest first. Their number is limited. */
  async list(orgId: OrgId): Promise<readonly McpSubscription[]> {
    return this.store.forOrg(orgId, (runner) => select(runner, 'order by s.created_at, s.id'));
  }

  /** Whether the subscription can be refreshed; otherwise, subscribing creates one. */
  async isLive(orgId: OrgId, id: string, at: Date): Promise<boolean> {
    return this.store.forOrg(orgId, async (runner) => {
      const [found] = await select(runner, 'where s.id = $1', [id]);
      return found !== undefined && isLive(found, at);
    });
  }

  /** Returns the number of subscriptions, including those that are about to be removed. */
  async count(orgId: OrgId): Promise<number> {
    return this.store.forOrg(orgId, (runner) => countOf(runner));
  }

  /** Whether the receiver at the url has agreed to deliveries for the key. */
  async isVerified(orgId: OrgId, keyId: string, url: string): Promise<boolean> {
    return this.store.forOrg(orgId, async (runner) => {
      const found = (await runner.query(
        'select 1 from mcp_verified_callbacks where org_id = $1 and key_id = $2 and url = $3',
        [orgId, keyId, url],
      )) as unknown[];
      return found.length > 0;
    });
  }

  /** Remembers it. The oldest ones are forgotten, so that an agent cannot fill the table with urls. */
  async verified(orgId: OrgId, keyId: string, url: string, at: Date): Promise<void> {
    await this.store.forOrg(orgId, async (runner) => {
      await runner.query(
        `insert into mcp_verified_callbacks (org_id, key_id, url, verified_at) values ($1, $2, $3, $4)
         on conflict (org_id, key_id, url) do update set verified_at = excluded.verified_at`,
        [orgId, keyId, url, at],
      );
      await runner.query(
        `delete from mcp_verified_callbacks v
         using (
           select org_id, key_id, url from mcp_verified_callbacks
           where org_id = $1 order by verified_at desc, key_id, url offset ${MAX_VERIFIED}
         ) oldest
         where v.org_id = oldest.org_id and v.key_id = oldest.key_id and v.url = oldest.url and not exists (
           select from mcp_subscriptions s where s.key_id = v.key_id and s.url = v.url
         )`,
        [orgId],
      );
    });
  }

  /**
   * Creates the subscription, or refreshes the one with this id.
   * @param creates called before a subscription is created; if it fails, none is, and this throws its error
   * @throws GaplessError `invalid_api_key` if the actor's own key has ended meanwhile
   */
  async subscribe(
    given: NewMcpSubscription,
    limit: number,
    creates: () => Promise<void> = () => Promise.resolve(),
  ): Promise<Subscribed> {
    const { orgId, id, at } = given;
    return this.store.forOrg(orgId, async (runner): Promise<Subscribed> => {
      await lockFor(runner, 'endpoints', orgId);
      // Asking the receiver takes seconds, and the deletion of the org takes this lock, too.
      await refuseEndedOfOrg(runner, this.actor);
      const [before] = await select(runner, 'where s.id = $1 for update of s', [id]);
      if (before !== undefined && isLive(before, at)) return this.#refresh(runner, given, before);
      // A lapsed subscription is no longer there: delivery begins where the client asks.
      if (before !== undefined) await deleteMcpEndpoint(runner, orgId, before.endpointId);
      if ((await countOf(runner)) >= limit) return { kind: 'limit_reached' };
      await creates();
      await this.#create(runner, given);
      return { kind: 'created', subscription: await find(runner, id) };
    });
  }

  /** @returns whether the subscription existed and had not ended */
  async unsubscribe(orgId: OrgId, id: string, at: Date): Promise<boolean> {
    return this.store.forOrg(orgId, async (runner) => {
      const [before] = await select(runner, 'where s.id = $1 for update of s', [id]);
      if (before === undefined) return false;
      await deleteMcpEndpoint(runner, orgId, before.endpointId);
      const wasLive = isLive(before, at);
      if (wasLive) {
        const details = { url: before.url, name: before.name, reason: 'unsubscribed' };
        await appendAudit(runner, this.actor, { orgId, action: 'mcp_subscription.ended', target: id, details });
      }
      return wasLive;
    });
  }

  /**
   * Stops deliveries at once. The subscription is removed after its subscriber was sent the error.
   * @returns whether the subscription existed and had not ended
   */
  async end(orgId: OrgId, id: string, error: McpError, at: Date): Promise<boolean> {
    return this.store.forOrg(orgId, async (runner) => {
      const [[ended]] = (await runner.query(
        `update mcp_subscriptions set ended_at = $2, ended_error = $3, gap_seq = null, notice_id = null,
           notice_attempts = 0, notice_due_at = $2
         where id = $1 and ended_at is null and (granted_until is null or granted_until > $2)
         returning endpoint_id as "endpointId", url, name`,
        [id, at, JSON.stringify(error)],
      )) as [Pick<McpSubscription, 'endpointId' | 'url' | 'name'>[], number];
      if (ended === undefined) return false;
      await runner.query('update endpoints set is_active = false, disabled_at = $2 where id = $1', [
        ended.endpointId,
        at,
      ]);
      const details = { url: ended.url, name: ended.name, reason: 'ended_by_organization' };
      await appendAudit(runner, this.actor, { orgId, action: 'mcp_subscription.ended', target: id, details });
      return true;
    });
  }

  async #create(runner: QueryRunner, given: NewMcpSubscription): Promise<void> {
    const { id, orgId, endpointId, keyId, url, name, widgetId, filter, at, grantedUntil, since } = given;
    await runner.manager.insert(EndpointEntity, {
      id: endpointId,
      kind: 'mcp',
      orgId,
      name: null,
      description: null,
      url,
      events: [name],
      widgetIds: widgetId === null ? null : [widgetId],
      filter,
      isActive: true,
      activation: 1,
      secretCiphertext: this.cipher.encrypt(given.secret),
      createdAt: at,
      // Where the client asks, and not where the log ends: what the router has passed by then is caught up.
      receivesAfterSeq: String(since),
      receivesFromOffset: null,
    });
    await runner.query(
      `insert into mcp_subscriptions (id, org_id, endpoint_id, key_id, url, name, arguments, widget_id, created_at,
         refreshed_at, resumed_at, granted_until, watermark_seq, caught_up_seq)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $9, $10, $11, $11)`,
      [id, orgId, endpointId, keyId, url, name, JSON.stringify(given.arguments), widgetId, at, grantedUntil, since],
    );
    await appendAudit(runner, this.actor, {
      orgId,
      action: 'mcp_subscription.created',
      target: id,
      details: { url, name, arguments: given.arguments, granted_until: grantedUntil?.toISOString() ?? null },
    });
  }

  async #refresh(runner: QueryRunner, given: NewMcpSubscription, before: McpSubscription): Promise<Subscribed> {
    const { id, orgId, at, grantedUntil } = given;
    const rotated = await this.#replaceSecret(runner, given, before.endpointId);
    if (rotated)
      await appendAudit(runner, this.actor, { orgId, action: 'mcp_subscription.secret_rotated', target: id });
    const wasSuspended = !before.isActive;
    if (wasSuspended) {
      await runner.query(
        `update endpoints set is_active = true, disabled_at = null, disabled_reason = null where id = $1`,
        [before.endpointId],
      );
      // What was appended meanwhile or was given up with the suspension is sent from here on.
      await runner.query(
        `update mcp_subscriptions set caught_up_seq = watermark_seq, catch_up_offset = null, catch_up_to_seq = null,
           resumed_at = $2 where id = $1`,
        [id, at],
      );
    }
    const query: Query = (sql, parameters) => runner.query(sql, parameters);
    await advanceWatermark({ query, feed: this.store.feed, filters: this.filters }, given.keptSince, id);
    const [gap] = (await runner.query(
      `select gap_seq is not null as is_truncated from mcp_subscriptions where id = $1`,
      [id],
    )) as { is_truncated: boolean }[];
    await runner.query(
      `update mcp_subscriptions set refreshed_at = $2, granted_until = $3, gap_seq = null, notice_id = null,
         notice_attempts = 0, notice_due_at = null where id = $1`,
      [id, at, grantedUntil],
    );
    const isTruncated = gap?.is_truncated === true;
    return { kind: 'refreshed', subscription: await find(runner, id), isTruncated, wasSuspended };
  }

  /** @returns whether the secret is another one than before */
  async #replaceSecret(runner: QueryRunner, given: NewMcpSubscription, endpointId: EndpointId): Promise<boolean> {
    const [row] = (await runner.query('select secret_ciphertext as ciphertext from endpoints where id = $1', [
      endpointId,
    ])) as { ciphertext: Buffer }[];
    const stored = row === undefined ? null : this.cipher.decryptOrNull(row.ciphertext);
    if (stored === given.secret) return false;
    // Nothing could be sent to the subscription while one of its secrets cannot be decrypted.
    const overlapsUntil = stored === null ? null : given.overlapsUntil;
    await runner.query(
      `update endpoints set previous_secret_ciphertext = case when $3::timestamptz is not null then secret_ciphertext end,
         previous_secret_until = $3, secret_ciphertext = $2, secret_changed_at = $4 where id = $1`,
      [endpointId, this.cipher.encrypt(given.secret), overlapsUntil, given.at],
    );
    return true;
  }
}

function isLive({ isEnded, grantedUntil }: McpSubscription, at: Date): boolean {
  return !isEnded && (grantedUntil === null || grantedUntil > at);
}

async function countOf(runner: QueryRunner): Promise<number> {
  const [row] = (await runner.query('select count(*)::int as count from mcp_subscriptions')) as { count: number }[];
  return row?.count ?? 0;
}

async function find(runner: QueryRunner, id: string): Promise<McpSubscription> {
  const [found] = await select(runner, 'where s.id = $1', [id]);
  if (found === undefined) throw new Error('the subscription was not stored');
  return found;
}
