import type { Pool } from 'pg';
import type { Cursor } from '../feed/cursor.js';

/** A cursor in `gapless_cursors`. It never goes back, so a process that was frozen cannot undo another's progress. */
export class PostgresCursor implements Cursor {
  /** @param name a name for the reader, unique in its database */
  constructor(
    private readonly pool: Pool,
    private readonly name: string,
  ) {}

  async load(): Promise<number | undefined> {
    const { rows } = await this.pool.query<{ readonly seq: string }>(
      'select seq from gapless_cursors where name = $1',
      [this.name],
    );
    // The driver returns a bigint as text.
    return rows[0] === undefined ? undefined : Number(rows[0].seq);
  }

  async save(seq: number): Promise<void> {
    await this.pool.query(
      `insert into gapless_cursors (name, seq) values ($1, $2)
       on conflict (name) do update set seq = excluded.seq, moved_at = now()
       where gapless_cursors.seq < excluded.seq`,
      [this.name, seq],
    );
  }
}
