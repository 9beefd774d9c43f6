import type { QueryRunner } from 'typeorm';
import type { OrgId } from '#libs/domain';
import type { AuditActor } from './audit-actor.js';
import { withoutTokens, type AuditDetails } from './audit-details.js';
import type { Store } from '../connection/store.js';

export const AUDIT_ACTIONS = [
  'endpoint.created',
  'endpoint.changed',
  'endpoint.enabled',
  'endpoint.disabled',
  'endpoint.deleted',
  'endpoint.secret_rotated',
  'endpoint.overlap_ended',
  'delivery.replayed',
  'delivery.skipped',
  'deliveries.recovered',
  'recovery.stopped',
  'api_key.created',
  'api_key.revoked',
  'live_chat_settings.changed',
  'cursor.created',
  'cursor.moved_back',
  'cursor.deleted',
  'mcp_subscription.created',
  'mcp_subscription.secret_rotated',
  'mcp_subscription.ended',
  'signing_key.rotated',
  'org.put',
  'org.deleted',
  'portal_session.created',
  'portal_session.opened',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** A change without its actor. The details hold no secrets. */
export interface AuditedChange {
  /** `null` for changes of service keys and of the installation. */
  readonly orgId: OrgId | null;
  readonly action: AuditAction;
  /** The id of the changed object. */
  readonly target: string;
  readonly details?: AuditDetails;
}

export interface AuditEntry extends AuditPlace {
  readonly at: Date;
  readonly action: AuditAction;
  readonly target: string;
  readonly actor: 'api_key' | 'dashboard' | 'portal' | 'operator';
  readonly keyId: string | null;
  readonly session: string | null;
  readonly userLabel: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
  readonly details: AuditDetails;
}

/** A place in the audit log. It also orders entries of the same time. */
export interface AuditPlace {
  readonly atMicros: string;
  readonly id: string;
}

/**
 * Appends an entry in the same transaction as the change.
 * @param id of the entry, if it must not be appended twice: a UUID
 * @returns whether the entry is new
 */
export async function appendAudit(
  runner: QueryRunner,
  actor: AuditActor | null,
  change: AuditedChange,
  id: string | null = null,
): Promise<boolean> {
  const appended = (await runner.query(
    `insert into audit_log
       (org_id, action, target, actor, key_id, session, user_label, address, request_id, details, id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, coalesce($11, gen_random_uuid()))
     on conflict (id) do nothing returning id`,
    [
      change.orgId,
      change.action,
      change.target,
      actor?.kind ?? 'operator',
      actor?.keyId ?? null,
      actor?.session ?? null,
      actor?.userLabel ?? null,
      actor?.address ?? null,
      actor?.requestId ?? null,
      JSON.stringify(withoutTokens(change.details ?? {})),
      id,
    ],
  )) as unknown[];
  return appended.length > 0;
}

/** Lists who changed what in an org, and when. */
export class AuditLog {
  constructor(private readonly store: Store) {}

  /**
   * Appends an action that changes no row, such as a request that is then sent to Kafka.
   * @param id a UUID that is the same when the request is repeated, so that it has one entry; `null` for an entry each time
   * @returns the details of the entry; those of the first time, if it was appended before
   */
  async append<Details extends AuditDetails>(
    actor: AuditActor,
    change: AuditedChange & { readonly orgId: OrgId; readonly details: Details },
    id: string | null = null,
  ): Promise<Details> {
    return this.store.forOrg(change.orgId, async (runner) => {
      await appendAudit(runner, actor, change, id);
      if (id === null) return change.details;
      const [entry] = (await runner.query('select details from audit_log where id = $1', [id])) as {
        details: Details;
      }[];
      return entry?.details ?? change.details;
    });
  }

  /**
   * Newest first. Addresses are those of the org's own callers. A service key's would show where the product's backend
   * runs.
   */
  async list(
    orgId: OrgId,
    { limit, after }: { readonly limit: number; readonly after?: AuditPlace },
  ): Promise<readonly AuditEntry[]> {
    const rows = await this.store.forOrg(
      orgId,
      async (runner) =>
        (await runner.query(
          `select id, at, (extract(epoch from at) * 1000000)::bigint as "atMicros", action, target, actor,
             key_id as "keyId", session, user_label as "userLabel", request_id as "requestId", details,
             case when actor = 'portal' or exists (
               select 1 from api_keys k where k.id = key_id and k.org_id = $1
             ) then address end as address
           from audit_log where org_id = $1
             and ($2::bigint is null or (at, id) < ('epoch'::timestamptz + $2::bigint * interval '1 microsecond', $3::uuid))
           order by at desc, id desc limit $4`,
          [orgId, after?.atMicros ?? null, after?.id ?? null, limit],
        )) as AuditEntry[],
    );
    // Entries of earlier versions have whole urls.
    return rows.map((entry) => ({ ...entry, details: withoutTokens(entry.details) }));
  }

  /** Deletes at most `limit` entries from before that time, of all orgs. @returns the number of deleted entries */
  async prune(before: Date, limit: number): Promise<number> {
    const [row] = await this.store.query<{ count: number }>(
      `with pruned as (
         delete from audit_log where id in (select id from audit_log where at < $1 order by at limit $2)
         returning 1
       ) select count(*)::int as count from pruned`,
      [before, limit],
    );
    return row?.count ?? 0;
  }
}
