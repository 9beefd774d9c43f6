import type { QueryRunner } from 'typeorm';
import { DEFAULT_LIVE_CHAT_SETTINGS, type OrgId, type WidgetId } from '#libs/domain';
import { OPERATOR, type AuditActor } from '../access/audit-actor.js';
import { appendAudit } from '../access/audit-log.js';
import { untilKeysAreForgotten } from '../access/api-key-records.js';
import { notifyEndedCredentials } from '../access/ended-credentials.js';
import { lockFor } from '../connection/advisory-locks.js';
import type { Store } from '../connection/store.js';
import { forgetEndpoints } from '../endpoints/forget-endpoints.js';

/** A widget's name for display. */
export interface NamedWidget {
  readonly id: WidgetId;
  readonly name: string;
}

/** The members of an organization that the product's backend sets. */
export interface OrgMembers {
  readonly name: string;
  readonly widgets: readonly NamedWidget[];
  readonly metadata: Readonly<Record<string, string>>;
}

/** An organization as a record. An organization works without one. */
export interface OrgRecord extends OrgMembers {
  readonly orgId: OrgId;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** An organization in a list, without its widgets. */
export type ListedOrg = Omit<OrgRecord, 'widgets'>;

interface OrgRow {
  readonly org_id: OrgId;
  readonly name: string;
  readonly widgets: readonly NamedWidget[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const COLUMNS = 'org_id, name, widgets, metadata, created_at, updated_at';

function toRecord(row: OrgRow): OrgRecord {
  const { name, widgets, metadata } = row;
  return { orgId: row.org_id, name, widgets, metadata, createdAt: row.created_at, updatedAt: row.updated_at };
}

/** The most endpoints that one statement deletes. Triggers look at each, and a statement must end in time. */
const CHUNK_ENDPOINTS = 1_000;
/** The most other rows that one statement deletes. */
const CHUNK_ROWS = 5_000;

/** The organizations, as the product's backend manages them. */
export class OrgRecords {
  constructor(
    private readonly store: Store,
    private readonly actor: AuditActor | null = OPERATOR,
  ) {}

  /** Returns the same records, with changes logged in the name of `actor` instead of the operator. */
  by(actor: AuditActor): OrgRecords {
    return new OrgRecords(this.store, actor);
  }

  async find(orgId: OrgId): Promise<OrgRecord | undefined> {
    return this.store.forOrg(orgId, async (runner) => {
      const [row] = (await runner.query(`select ${COLUMNS} from orgs where org_id = $1`, [orgId])) as OrgRow[];
      return row === undefined ? undefined : toRecord(row);
    });
  }

  /** Lists records of all orgs by id, from the one after `after` on. */
  async list({ limit, after }: { readonly limit: number; readonly after?: OrgId }): Promise<readonly ListedOrg[]> {
    const rows = await this.store.query<Omit<OrgRow, 'widgets'>>(
      `select org_id, name, metadata, created_at, updated_at from orgs
       where org_id > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000') order by org_id limit $2`,
      [after ?? null, limit],
    );
    return rows.map((row) => ({
      orgId: row.org_id,
      name: row.name,
      metadata: row.metadata,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    }));
  }

  /** Creates the record, or replaces all of its members. */
  async put(orgId: OrgId, { name, widgets, metadata }: OrgMembers, at: Date): Promise<OrgRecord> {
    return this.store.forOrg(orgId, async (runner) => {
      const [row] = (await runner.query(
        `insert into orgs (${COLUMNS}) values ($1, $2, $3, $4, $5, $5)
         on conflict (org_id) do update
         set name = excluded.name, widgets = excluded.widgets, metadata = excluded.metadata, updated_at = excluded.updated_at
         returning ${COLUMNS}`,
        [orgId, name, JSON.stringify(widgets), JSON.stringify(metadata), at],
      )) as OrgRow[];
      if (row === undefined) throw new Error('the organization was not stored');
      const details = { name, widgets: widgets.length };
      await appendAudit(runner, this.actor, { orgId, action: 'org.put', target: orgId, details });
      return toRecord(row);
    });
  }

  /**
   * Deletes everything of the org but its history: events leave with retention, and the audit log with its own.
   * Endpoints and keys end with the transaction. Delivery history is removed later, as for a single endpoint.
   * Returns once no process uses its keys any more.
   * @returns whether anything of the org was known, including events in its log
   */
  async delete(orgId: OrgId): Promise<boolean> {
    const existed = await this.#delete(orgId);
    if (existed) await untilKeysAreForgotten();
    return existed;
  }

  async #delete(orgId: OrgId): Promise<boolean> {
    return this.store.transaction(async (runner) => {
      // Requests that create something of the org come before the deletion or after it.
      for (const what of ['endpoints', 'apiKeys', 'feedCursors', 'liveChatSettings'] as const) {
        await lockFor(runner, what, orgId);
      }
      const endpoints = await deleteEndpoints(runner, orgId);
      const { keys, sessions } = await deleteKeys(runner, orgId);
      let others = await deleteLiveChat(runner, orgId);
      others += await deleteVersions(runner, orgId);
      for (const table of ['org_days', 'feed_cursors', 'mcp_verified_callbacks', 'orgs']) {
        const [, rows] = (await runner.query(`delete from ${table} where org_id = $1`, [orgId])) as [unknown, number];
        others += rows;
      }
      if (endpoints + keys + sessions + others === 0 && !(await this.#hasEvents(runner, orgId))) return false;
      await notifyEndedCredentials(runner, orgId);
      await appendAudit(runner, this.actor, {
        orgId,
        action: 'org.deleted',
        target: orgId,
        details: { endpoints, api_keys: keys },
      });
      return true;
    });
  }

  /** Whether the org has a log, even if its events have left with retention. */
  async #hasEvents(runner: QueryRunner, orgId: OrgId): Promise<boolean> {
    const [row] = (await runner.query(`select ${await this.store.feed.headSql(orgId)} > 0 as has_events`)) as {
      has_events: boolean;
    }[];
    return row?.has_events === true;
  }
}

/**
 * Hands what a query finds to `act`, a chunk at a time. A cursor reads each row once: a query for the next chunk would
 * read past all that is deleted already. Parameter of the query: the org; its column: `found`.
 */
async function inChunks(
  runner: QueryRunner,
  orgId: OrgId,
  query: string,
  size: number,
  act: (found: readonly string[]) => Promise<void>,
): Promise<void> {
  await runner.query(`declare chunks no scroll cursor for ${query}`, [orgId]);
  for (;;) {
    const rows = (await runner.query(`fetch ${size} from chunks`)) as { readonly found: string }[];
    if (rows.length > 0) await act(rows.map(({ found }) => found));
    if (rows.length < size) break;
  }
  await runner.query('close chunks');
}

/** Deletes the rows of a table that meet a condition about the org, a chunk at a time. @returns their number */
async function deleteAll(runner: QueryRunner, orgId: OrgId, table: string, condition = 'org_id = $1'): Promise<number> {
  let deleted = 0;
  // By their places, as no plan for that reads other rows. A locked row stays at its place.
  const query = `select ctid::text as found from ${table} where ${condition} for update`;
  await inChunks(runner, orgId, query, CHUNK_ROWS, async (places) => {
    const [, count] = (await runner.query(`delete from ${table} where ctid = any($1::tid[])`, [places])) as [
      unknown,
      number,
    ];
    deleted += count;
  });
  return deleted;
}

/** @returns the number of endpoints */
async function deleteEndpoints(runner: QueryRunner, orgId: OrgId): Promise<number> {
  // As for a single endpoint, the projector adds nothing after this: it locks the rows while it writes history.
  const ids: string[] = [];
  const query = 'select id as found from endpoints where org_id = $1';
  await inChunks(runner, orgId, query, CHUNK_ENDPOINTS, async (found) => {
    const [deleted] = (await runner.query('delete from endpoints where id = any($1::text[]) returning id', [
      found,
    ])) as [{ readonly id: string }[], number];
    ids.push(...deleted.map(({ id }) => id));
  });
  await forgetEndpoints(runner, orgId, ids);
  return ids.length;
}

/**
 * Deletes the versions of deleted endpoints. No index lists all versions of an org, but each deleted endpoint has one that
 * says so.
 * @returns the number of versions
 */
async function deleteVersions(runner: QueryRunner, orgId: OrgId): Promise<number> {
  // By a list, as no plan for it reads the versions of others.
  const deleted = 'array(select endpoint_id from endpoint_versions where org_id = $1 and is_deleted)';
  return deleteAll(runner, orgId, 'endpoint_versions', `endpoint_id = any(${deleted})`);
}

/**
 * Deletes keys, sessions of either kind, and answers to service keys about the org. Answers to its own keys and sessions
 * expire within a day: nobody can ask for them any more, and there can be millions.
 * @returns the numbers of keys, and of sessions of the portal
 */
async function deleteKeys(
  runner: QueryRunner,
  orgId: OrgId,
): Promise<{ readonly keys: number; readonly sessions: number }> {
  const sessions = await deleteAll(runner, orgId, 'portal_sessions');
  const keys = await deleteAll(runner, orgId, 'api_keys');
  await deleteAll(runner, orgId, 'idempotency_keys', 'about_org_id = $1');
  return { keys, sessions };
}

/** Deletes settings, waiting chats and alerts, so that no sweep raises another. @returns the number of settings */
async function deleteLiveChat(runner: QueryRunner, orgId: OrgId): Promise<number> {
  const { firstAlertSeconds, secondAlertSeconds } = DEFAULT_LIVE_CHAT_SETTINGS;
  // The row stays, because it says how far the log has been read. It comes first, because it locks the queue.
  await runner.query(
    'update chat_queues set waiting = 0, first_alert_seconds = $2, second_alert_seconds = $3 where org_id = $1',
    [orgId, firstAlertSeconds, secondAlertSeconds],
  );
  await deleteAll(runner, orgId, 'waiting_conversations');
  await deleteAll(runner, orgId, 'alerts');
  const [, settings] = (await runner.query('delete from live_chat_settings where org_id = $1', [orgId])) as [
    unknown,
    number,
  ];
  return settings;
}
