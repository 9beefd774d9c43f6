import type { QueryRunner } from 'typeorm';
import { GaplessError, seqFromText, type EndpointId, type OrgId, type RecoveryId, type Seq } from '#libs/domain';
import { OPERATOR, type AuditActor } from '../../access/audit-actor.js';
import { appendAudit } from '../../access/audit-log.js';
import { lockFor } from '../../connection/advisory-locks.js';
import type { Store } from '../../connection/store.js';
import type { RecoveryKind, RecoveryRange } from './recovery-source.js';

export const RECOVERY_STATUSES = ['running', 'done', 'stopped', 'failed'] as const;
export type RecoveryStatus = (typeof RECOVERY_STATUSES)[number];

/** The error of a recovery that scheduled nothing because the log was away. The same recovery can begin again. */
export const NOT_BEGUN = 'unavailable';

/** What a recovery sends again. */
export interface RecoveryOrder {
  readonly orgId: OrgId;
  readonly endpointId: EndpointId;
  readonly kinds: readonly RecoveryKind[];
  readonly range: RecoveryRange;
}

/** A recovery, and how far it is. */
export interface RecoveryRecord extends RecoveryOrder {
  readonly id: RecoveryId;
  /** The newest event when the recovery began. */
  readonly throughSeq: Seq;
  /** Every event up to this one was looked at. */
  readonly afterSeq: Seq;
  readonly matched: number;
  readonly scheduled: number;
  readonly status: RecoveryStatus;
  /** Why it failed; `null` otherwise. */
  readonly error: string | null;
  readonly createdAt: Date;
  readonly endedAt: Date | null;
}

/** A process that works on recoveries: a UUID of its own. */
export type RecoveryWorker = string;

/** One more step of a recovery. */
export interface RecoveryStep {
  readonly afterSeq: Seq;
  readonly matched: number;
  readonly scheduled: number;
}

/** After this time without a sign of its worker, another process goes on with a recovery. */
const LEASE = `interval '30 seconds'`;

const COLUMNS = `id, org_id, endpoint_id, kinds, since_seq, since, until, through_seq, after_seq, matched, scheduled, status,
  error, created_at, ended_at`;

interface RecoveryRow {
  readonly id: RecoveryId;
  readonly org_id: OrgId;
  readonly endpoint_id: EndpointId;
  readonly kinds: RecoveryKind[];
  readonly since_seq: string | null;
  readonly since: Date | null;
  readonly until: Date | null;
  readonly through_seq: string;
  readonly after_seq: string;
  readonly matched: string;
  readonly scheduled: string;
  readonly status: RecoveryStatus;
  readonly error: string | null;
  readonly created_at: Date;
  readonly ended_at: Date | null;
}

function recordOf(row: RecoveryRow): RecoveryRecord {
  return {
    id: row.id,
    orgId: row.org_id,
    endpointId: row.endpoint_id,
    kinds: row.kinds,
    range: {
      sinceSeq: row.since_seq === null ? null : seqFromText(row.since_seq),
      since: row.since,
      until: row.until,
      throughSeq: seqFromText(row.through_seq),
    },
    throughSeq: seqFromText(row.through_seq),
    afterSeq: seqFromText(row.after_seq),
    matched: Number(row.matched),
    scheduled: Number(row.scheduled),
    status: row.status,
    error: row.error,
    createdAt: row.created_at,
    endedAt: row.ended_at,
  };
}

/** Stores recoveries (contract 4.4). One worker at a time works on each. */
export class RecoveryRecords {
  constructor(
    private readonly store: Store,
    private readonly actor: AuditActor | null = OPERATOR,
  ) {}

  /** Returns the same recoveries, with changes logged in the name of `actor` instead of the operator. */
  by(actor: AuditActor): RecoveryRecords {
    return new RecoveryRecords(this.store, actor);
  }

  /**
   * Stores a recovery that the worker begins, with its audit entry: nothing is sent again without one.
   * @param limit how many of the endpoint's recoveries may run at once
   * @returns `undefined` if as many are running already, or if it was stored before
   * @throws GaplessError `not_found` if the endpoint was deleted meanwhile
   */
  async begin(
    id: RecoveryId,
    { orgId, endpointId, kinds, range }: RecoveryOrder,
    worker: RecoveryWorker,
    { at, limit }: { readonly at: Date; readonly limit: number },
  ): Promise<RecoveryRecord | undefined> {
    const head = await this.store.feed.headSql(orgId);
    return this.store.forOrg(orgId, async (runner) => {
      // Until the commit, no other recovery of the endpoint is counted or added.
      await lockFor(runner, 'recoveries', endpointId);
      const endpoints = (await runner.query(`select from endpoints where id = $1 and kind = 'webhook' for key share`, [
        endpointId,
      ])) as unknown[];
      if (endpoints.length === 0) throw new GaplessError('not_found', 'There is no such endpoint.');
      const [row] = (await runner.query(
        `insert into recoveries
           (id, org_id, endpoint_id, kinds, since_seq, since, until, through_seq, created_at, worker, leased_until)
         select $1, $2, $3, $4, $5, $6, $7, ${head}, $8, $9,
           now() + ${LEASE}
         where (select count(*) from recoveries where endpoint_id = $3 and status = 'running') < $10
         on conflict (id) do update set
           status = 'running', error = null, ended_at = null, through_seq = excluded.through_seq,
           created_at = excluded.created_at, worker = excluded.worker, leased_until = excluded.leased_until
         where recoveries.error = $11
         returning ${COLUMNS}`,
        [id, orgId, endpointId, kinds, range.sinceSeq, range.since, range.until, at, worker, limit, NOT_BEGUN],
      )) as RecoveryRow[];
      if (row === undefined) return undefined;
      const details = { recovery: id, kinds, since_seq: range.sinceSeq, since: range.since, until: range.until };
      await appendAudit(runner, this.actor, { orgId, action: 'deliveries.recovered', target: endpointId, details });
      return recordOf(row);
    });
  }

  /** Notes a step, and keeps the recovery for the worker. @returns whether the worker may go on */
  async step({ id, orgId }: RecoveryRecord, worker: RecoveryWorker, step: RecoveryStep): Promise<boolean> {
    return this.#change(
      orgId,
      `update recoveries set after_seq = greatest(after_seq, $3), matched = matched + $4, scheduled = scheduled + $5,
         leased_until = now() + ${LEASE}
       where id = $1 and worker = $2 and status = 'running'`,
      [id, worker, step.afterSeq, step.matched, step.scheduled],
    );
  }

  async end(
    { id, orgId }: RecoveryRecord,
    worker: RecoveryWorker,
    {
      status,
      error = null,
      at,
    }: { readonly status: 'done' | 'failed'; readonly error?: string | null; readonly at: Date },
  ): Promise<boolean> {
    return this.#change(
      orgId,
      `update recoveries set status = $3, error = $4, ended_at = $5 where id = $1 and worker = $2 and status = 'running'`,
      [id, worker, status, error, at],
    );
  }

  /** Lets another process go on with the recovery after that time. */
  async release({ id, orgId }: RecoveryRecord, worker: RecoveryWorker, afterMs: number): Promise<void> {
    await this.#change(
      orgId,
      `update recoveries set leased_until = now() + $3 * interval '1 ms' where id = $1 and worker = $2 and status = 'running'`,
      [id, worker, afterMs],
    );
  }

  /**
   * Takes over a recovery that nobody works on, of the org whose turn it is; `undefined` without one.
   * @param served orgs that had their turns, the one whose last turn is longest ago first. Other orgs come before them.
   */
  async claim(worker: RecoveryWorker, served: readonly OrgId[]): Promise<RecoveryRecord | undefined> {
    const [row] = await this.store.prepared<RecoveryRow>(
      'claim_recovery',
      `update recoveries set worker = $1, leased_until = now() + ${LEASE}
       where id = (
         select id from recoveries
         left join unnest($2::uuid[]) with ordinality as served(org, place) on served.org = recoveries.org_id
         where status = 'running' and leased_until < now()
         order by place nulls first, leased_until limit 1 for update of recoveries skip locked
       ) returning ${COLUMNS}`,
      [worker, served],
    );
    return row === undefined ? undefined : recordOf(row);
  }

  /** Finds a recovery of any endpoint of the org. */
  async find(orgId: OrgId, id: RecoveryId): Promise<RecoveryRecord | undefined> {
    const [row] = await this.store.preparedForOrg<RecoveryRow>(
      orgId,
      'recovery',
      `select ${COLUMNS} from recoveries where org_id = $1 and id = $2`,
      [orgId, id],
    );
    return row === undefined ? undefined : recordOf(row);
  }

  /** Newest first, at most `limit` of them. */
  async list(orgId: OrgId, endpointId: EndpointId, limit: number): Promise<readonly RecoveryRecord[]> {
    const rows = await this.store.preparedForOrg<RecoveryRow>(
      orgId,
      'recoveries',
      `select ${COLUMNS} from recoveries where org_id = $1 and endpoint_id = $2 order by created_at desc, id desc limit $3`,
      [orgId, endpointId, limit],
    );
    return rows.map(recordOf);
  }

  /** Stops a recovery that runs, at its next step. */
  async stop(orgId: OrgId, endpointId: EndpointId, id: RecoveryId, at: Date): Promise<void> {
    await this.store.forOrg(orgId, async (runner) => {
      const rows = (await runner.query(
        `with stopped as (
           update recoveries set status = 'stopped', ended_at = $4
           where org_id = $1 and endpoint_id = $2 and id = $3 and status = 'running' returning id
         ) select id from stopped`,
        [orgId, endpointId, id, at],
      )) as unknown[];
      if (rows.length === 0) return;
      await appendAudit(runner, this.actor, {
        orgId,
        action: 'recovery.stopped',
        target: id,
        details: { endpoint_id: endpointId },
      });
    });
  }

  /** Deletes at most `limit` recoveries of all orgs that ended before that time. @returns the number of deleted recoveries */
  async prune(before: Date, limit: number): Promise<number> {
    const [row] = await this.store.query<{ count: number }>(
      `with pruned as (
         delete from recoveries where id in (
           select id from recoveries where ended_at < $1 order by ended_at limit $2
         ) returning 1
       ) select count(*)::int as count from pruned`,
      [before, limit],
    );
    return row?.count ?? 0;
  }

  async #change(orgId: OrgId, update: string, parameters: readonly unknown[]): Promise<boolean> {
    return this.store.forOrg(orgId, async (runner: QueryRunner) => {
      const rows = (await runner.query(`with changed as (${update} returning id) select id from changed`, [
        ...parameters,
      ])) as unknown[];
      return rows.length > 0;
    });
  }
}
