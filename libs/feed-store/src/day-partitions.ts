import type { QueryRunner } from 'typeorm';

const DAY_MS = 86_400_000;

/** The tables that are range-partitioned by day. */
const TABLES = ['events', 'deliveries', 'delivery_attempts'] as const;

/** Taken while partitions are made, so that two projectors do not make the same one. */
const PARTITION_LOCK = 4_711_0816;

function isoDay(dayMs: number): string {
  return new Date(dayMs).toISOString().slice(0, 10);
}

/** Makes the tables of the days that records fall on; knows which ones it has made. */
export class DayPartitions {
  readonly #known = new Set<number>();

  /** @param timesMs epoch milliseconds of the records that will be written in this transaction */
  async ensure(runner: QueryRunner, timesMs: Iterable<number>): Promise<void> {
    const missing = new Set<number>();
    for (const timeMs of timesMs) {
      const dayMs = Math.floor(timeMs / DAY_MS) * DAY_MS;
      if (!this.#known.has(dayMs)) missing.add(dayMs);
    }
    if (missing.size === 0) return;
    await runner.query('select pg_advisory_xact_lock($1)', [PARTITION_LOCK]);
    for (const dayMs of missing) {
      const day = isoDay(dayMs);
      for (const table of TABLES) {
        await runner.query(
          `create table if not exists ${table}_${day.replaceAll('-', '')} partition of ${table}
           for values from ('${day}T00:00:00Z') to ('${isoDay(dayMs + DAY_MS)}T00:00:00Z')`,
        );
      }
    }
    this.#pending = missing;
  }

  /** To be called when the transaction has committed: only then do the tables exist for good. */
  committed(): void {
    for (const dayMs of this.#pending) this.#known.add(dayMs);
    this.#pending = new Set();
  }

  #pending = new Set<number>();
}
