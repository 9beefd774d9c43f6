import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/infrastructure/database.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { anEvent } from '../testing/an-event.js';
import { CONSUMER_TABLES, createConsumerTables, PostgresCursor, PostgresDedup } from './index.js';

describe("a consumer's place and memory in Postgres", () => {
  let database: TestDatabase;
  let pool: Pool;

  beforeAll(async () => {
    database = await createTestDatabase(() => Promise.resolve(), 'empty');
    pool = new Pool({ connectionString: database.url });
    // Connections are ended when the database is removed.
    pool.on('error', () => undefined);
    // Several processes begin at once.
    await Promise.all(oneTo(4).map(() => createConsumerTables(pool)));
    await pool.query('create table done (seq bigint not null)');
  });

  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  afterEach(async () => {
    await pool.query('truncate gapless_cursors, gapless_handled_events, done');
  });

  async function done(): Promise<readonly number[]> {
    const { rows } = await pool.query<{ readonly seq: string }>('select seq from done order by seq');
    return rows.map(({ seq }) => Number(seq));
  }

  it('has tables that can be removed and made again', async () => {
    await pool.query(CONSUMER_TABLES.down);
    await pool.query(CONSUMER_TABLES.up);
    expect(await new PostgresCursor(pool, 'a').load()).toBeUndefined();
  });

  describe('a cursor', () => {
    it('is kept by name', async () => {
      await new PostgresCursor(pool, 'a').save(7);
      expect(await new PostgresCursor(pool, 'a').load()).toBe(7);
      expect(await new PostgresCursor(pool, 'b').load()).toBeUndefined();
    });

    it('never goes back', async () => {
      const cursor = new PostgresCursor(pool, 'a');
      for (const seq of [3, 9, 4]) await cursor.save(seq);
      expect(await cursor.load()).toBe(9);
    });
  });

  describe('a memory', () => {
    let dedup: PostgresDedup;

    beforeEach(() => {
      dedup = new PostgresDedup(pool, 'a');
    });

    const work = (seq: number, as = dedup) =>
      as.once(anEvent(seq), async (client) => {
        await client.query('insert into done (seq) values ($1)', [seq]);
      });

    it('has the work of an id done once, for each consumer', async () => {
      expect([await work(1), await work(1), await work(2)]).toEqual([true, false, true]);
      expect(await work(1, new PostgresDedup(pool, 'b'))).toBe(true);
      expect(await done()).toEqual([1, 1, 2]);
    });

    it('keeps nothing of work that throws, and lets it be done again', async () => {
      const failing = dedup.once(anEvent(1), async (client) => {
        await client.query('insert into done (seq) values (1)');
        throw new Error('broken');
      });
      await expect(failing).rejects.toThrow('broken');
      expect(await done()).toEqual([]);
      expect(await work(1)).toBe(true);
    });

    it('keeps nothing of work whose connection breaks, and does not use that again', async () => {
      const dying = dedup.once(anEvent(1), async (client) => {
        await client.query('insert into done (seq) values (1)');
        await client.query('select pg_terminate_backend(pg_backend_pid())');
      });
      await expect(dying).rejects.toThrow();
      expect(await work(1)).toBe(true);
      expect(await done()).toEqual([1]);
    });

    it('survives a connection that breaks while the work waits for something else', async () => {
      const dying = dedup.once(anEvent(1), async (client) => {
        const { rows } = await client.query<{ readonly pid: number }>('select pg_backend_pid() as pid');
        const ended = new Promise<void>((resolve) => client.once('end', resolve));
        await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
        await ended;
      });
      await expect(dying).rejects.toThrow();
      expect(await work(1)).toBe(true);
      expect(await done()).toEqual([1]);
    });

    it('does not count work as done that caught the error of a failed statement', async () => {
      const swallowing = dedup.once(anEvent(1), async (client) => {
        await client.query('insert into done (seq) values (1)');
        await client.query('insert into nothing values (1)').catch(() => undefined);
      });
      await expect(swallowing).rejects.toThrow('a statement failed in the transaction, and its error was caught');
      expect(await done()).toEqual([]);
      expect(await work(1)).toBe(true);
    });

    it('has work done that skips a failed statement by a savepoint', async () => {
      const skipping = dedup.once(anEvent(1), async (client) => {
        await client.query('insert into done (seq) values (1)');
        await client.query('savepoint before_event');
        await client
          .query('insert into nothing values (1)')
          .catch(() => client.query('rollback to savepoint before_event'));
      });
      expect(await skipping).toBe(true);
      expect(await done()).toEqual([1]);
      expect(await work(1)).toBe(false);
    });

    it('lets all but one wait that come at the same time', async () => {
      const results = await Promise.all(oneTo(8).map(() => work(5)));
      expect(results.filter((isNew) => isNew)).toHaveLength(1);
      expect(await done()).toEqual([5]);
    });

    const ages = (days: number, count: number) =>
      pool.query(
        `insert into gapless_handled_events (consumer, org_id, event_id, handled_at)
         select 'a', gen_random_uuid(), n, now() - $1 * interval '1 day' from generate_series(1, $2) n`,
        [days, count],
      );
    const remembered = async () => {
      const { rows } = await pool.query<{ readonly count: string }>('select count(*) from gapless_handled_events');
      return Number(rows[0]?.count);
    };

    it('forgets by itself what no feed holds any more', async () => {
      await ages(32, 700);
      await ages(30, 5);
      await work(1);
      expect(await remembered()).toBe(206);
      for (const seq of oneTo(100)) await work(1 + seq);
      expect(await remembered()).toBe(106);
    });

    it('forgets after the days that it is given', async () => {
      dedup = new PostgresDedup(pool, 'a', { rememberDays: 40 });
      await ages(39, 3);
      await ages(41, 3);
      await work(1);
      expect(await remembered()).toBe(4);
      expect(() => new PostgresDedup(pool, 'a', { rememberDays: 0 })).toThrow(RangeError);
    });

    it('forgets what is older than asked for', async () => {
      await work(1);
      await pool.query(`update gapless_handled_events set handled_at = now() - interval '31 days'`);
      await work(2);
      expect(await dedup.forget(new Date(Date.now() - 30 * 86_400_000))).toBe(1);
      expect([await work(1), await work(2)]).toEqual([true, false]);
    });
  });
});
