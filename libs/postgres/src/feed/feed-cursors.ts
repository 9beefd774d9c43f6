import type { QueryRunner } from 'typeorm';
import { seqFromText, type OrgId, type Seq } from '#libs/domain';
import { OPERATOR, type AuditActor } from '../access/audit-actor.js';
import { appendAudit } from '../access/audit-log.js';
import { refuseEndedOfOrg } from '../access/refuse-ended.js';
import { lockFor } from '../connection/advisory-locks.js';
import type { Store } from '../connection/store.js';

/** The position of a reader: it has handled every event up to `seq`. */
export interface FeedCursor {
  readonly name: string;
  readonly seq: Seq;
  readonly createdAt: Date;
  readonly movedAt: Date;
}

export interface CursorMove {
  readonly name: string;
  readonly seq: Seq;
  /**
   * The position that the cursor must have now; `null`: the cursor must not exist. `undefined`: any position, but the
   * cursor only moves forward.
   */
  readonly expected: Seq | null | undefined;
  readonly at: Date;
  /** How many cursors the org may have. */
  readonly limit: number;
}

export type CursorMoved =
  | { readonly kind: 'set'; readonly cursor: FeedCursor }
  /** The cursor is not where it was expected; `seq` is `null` if it does not exist. */
  | { readonly kind: 'conflict'; readonly seq: Seq | null }
  | { readonly kind: 'limit_reached' };

interface CursorRow {
  readonly name: string;
  readonly seq: string;
  readonly created_at: Date;
  readonly moved_at: Date;
}

const COLUMNS = 'name, seq, created_at, moved_at';

function cursorOf(row: CursorRow): FeedCursor {
  return { name: row.name, seq: seqFromText(row.seq), createdAt: row.created_at, movedAt: row.moved_at };
}

/** Positions in the feed that Gapless stores for its readers (contract 5.8). */
export class FeedCursors {
  constructor(
    private readonly store: Store,
    private readonly actor: AuditActor | null = OPERATOR,
  ) {}

  /** Returns the same cursors, with changes logged in the name of `actor` instead of the operator. */
  by(actor: AuditActor): FeedCursors {
    return new FeedCursors(this.store, actor);
  }

  async read(orgId: OrgId, name: string): Promise<FeedCursor | undefined> {
    const [row] = await this.store.preparedForOrg<CursorRow>(
      orgId,
      'feed-cursor',
      `select ${COLUMNS} from feed_cursors where org_id = $1 and name = $2`,
      [orgId, name],
    );
    return row === undefined ? undefined : cursorOf(row);
  }

  /** By name, at most `limit` of them. */
  async list(orgId: OrgId, limit: number): Promise<readonly FeedCursor[]> {
    const rows = await this.store.preparedForOrg<CursorRow>(
      orgId,
      'feed-cursors',
      `select ${COLUMNS} from feed_cursors where org_id = $1 order by name limit $2`,
      [orgId, limit],
    );
    return rows.map(cursorOf);
  }

  /**
   * Moves the cursor, and creates it if it does not exist. The audit log gets an entry when a cursor is created or moved
   * back, but none for the many moves forward.
   * @param logs called before the audit log gets an entry; if it fails, nothing changes, and this throws its error
   * @throws GaplessError `invalid_api_key` if the actor's own key or session has ended before it creates the cursor
   */
  async move(
    orgId: OrgId,
    move: CursorMove,
    logs: () => Promise<void> = () => Promise.resolve(),
  ): Promise<CursorMoved> {
    return this.store.forOrg(orgId, async (runner) => {
      const found = await lock(runner, orgId, move.name);
      if (found !== undefined) return this.#moveFound(runner, orgId, found, move, logs);
      // Without a row there is nothing to lock, and the count below must not change until the commit.
      await lockFor(runner, 'feedCursors', orgId);
      const created = await lock(runner, orgId, move.name);
      if (created !== undefined) return this.#moveFound(runner, orgId, created, move, logs);
      // The deletion of the org takes this lock, too.
      await refuseEndedOfOrg(runner, this.actor);
      return this.#create(runner, orgId, move, logs);
    });
  }

  /** @returns whether the cursor existed */
  async delete(orgId: OrgId, name: string): Promise<boolean> {
    return this.store.forOrg(orgId, async (runner) => {
      const [row] = (await runner.query(
        `with deleted as (delete from feed_cursors where org_id = $1 and name = $2 returning seq) select seq from deleted`,
        [orgId, name],
      )) as Pick<CursorRow, 'seq'>[];
      if (row === undefined) return false;
      await appendAudit(runner, this.actor, {
        orgId,
        action: 'cursor.deleted',
        target: name,
        details: { seq: Number(row.seq) },
      });
      return true;
    });
  }

  async #create(
    runner: QueryRunner,
    orgId: OrgId,
    { name, seq, expected, at, limit }: CursorMove,
    logs: () => Promise<void>,
  ): Promise<CursorMoved> {
    if (expected !== undefined && expected !== null) return { kind: 'conflict', seq: null };
    const [{ count }] = (await runner.query('select count(*)::int as count from feed_cursors where org_id = $1', [
      orgId,
    ])) as [{ count: number }];
    if (count >= limit) return { kind: 'limit_reached' };
    await logs();
    await runner.query(
      'insert into feed_cursors (org_id, name, seq, created_at, moved_at) values ($1, $2, $3, $4, $4)',
      [orgId, name, seq, at],
    );
    await appendAudit(runner, this.actor, { orgId, action: 'cursor.created', target: name, details: { seq } });
    return { kind: 'set', cursor: { name, seq, createdAt: at, movedAt: at } };
  }

  async #moveFound(
    runner: QueryRunner,
    orgId: OrgId,
    cursor: FeedCursor,
    { name, seq, expected, at }: CursorMove,
    logs: () => Promise<void>,
  ): Promise<CursorMoved> {
    if (expected !== undefined && expected !== cursor.seq) return { kind: 'conflict', seq: cursor.seq };
    const isUnmoved = expected === undefined ? seq <= cursor.seq : seq === cursor.seq;
    if (isUnmoved) return { kind: 'set', cursor };
    if (seq < cursor.seq) await logs();
    await runner.query('update feed_cursors set seq = $3, moved_at = $4 where org_id = $1 and name = $2', [
      orgId,
      name,
      seq,
      at,
    ]);
    if (seq < cursor.seq) {
      const details = { from: cursor.seq, to: seq };
      await appendAudit(runner, this.actor, { orgId, action: 'cursor.moved_back', target: name, details });
    }
    return { kind: 'set', cursor: { ...cursor, seq, movedAt: at } };
  }
}

async function lock(runner: QueryRunner, orgId: OrgId, name: string): Promise<FeedCursor | undefined> {
  const [row] = (await runner.query(`select ${COLUMNS} from feed_cursors where org_id = $1 and name = $2 for update`, [
    orgId,
    name,
  ])) as CursorRow[];
  return row === undefined ? undefined : cursorOf(row);
}
