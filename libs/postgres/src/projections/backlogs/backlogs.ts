import type { EndpointId } from '#libs/domain';
import { ADVISORY_LOCKS } from '../../connection/advisory-locks.js';
import type { Store } from '../../connection/store.js';

/** The most rows that one statement changes. It holds their locks for well under a second. */
const CHUNK_ROWS = 2_000;

/** Work that was put off because it may concern millions of rows. Readers see it as done already. */
export interface BacklogWork {
  /**
   * `settle`: write the visible state of ended deliveries into their rows. `remove`: delete the history of a deleted
   * endpoint.
   */
  readonly kind: 'settle' | 'remove';
  readonly endpointId: EndpointId;
}

/** The result of a chunk. */
export interface BacklogChunk extends BacklogWork {
  readonly rows: number;
  /** Whether the endpoint's work is done. */
  readonly isDone: boolean;
}

/** Updates rows chunk by chunk, in short transactions that skip locked rows (ADR 36). */
export class Backlogs {
  constructor(private readonly store: Store) {}

  /** Returns the number of endpoints with waiting work. */
  async waiting(): Promise<Readonly<Record<BacklogWork['kind'], number>>> {
    const [row] = await this.store.prepared<{ settle: number; remove: number }>(
      'count_backlogs',
      `select (select count(*)::int from endpoint_endings where settled < endings) as settle,
         (select count(*)::int from deleted_endpoints) as remove`,
      [],
    );
    return row ?? { settle: 0, remove: 0 };
  }

  /**
   * Runs `act`, in one process at a time.
   * @param act gets a signal that aborts when another process may begin @returns `null` when another process is running it
   */
  async alone<T>(act: (lost: AbortSignal) => Promise<T>): Promise<T | null> {
    return this.store.exclusively(ADVISORY_LOCKS.backlogs, act);
  }

  /** Does one chunk for each endpoint with waiting work. */
  async *chunks(): AsyncIterable<BacklogChunk> {
    const ended = await this.store.query<{ endpoint_id: EndpointId; endings: number }>(
      'select endpoint_id, endings from endpoint_endings where settled < endings order by endpoint_id limit 100',
    );
    for (const { endpoint_id: endpointId, endings } of ended) yield this.#settle(endpointId, endings);
    const deleted = await this.store.query<{ endpoint_id: EndpointId }>(
      'select endpoint_id from deleted_endpoints order by deleted_at limit 100',
    );
    for (const { endpoint_id: endpointId } of deleted) yield this.#remove(endpointId);
  }

  async #settle(endpointId: EndpointId, endings: number): Promise<BacklogChunk> {
    const rows = await this.#count(
      `with chunk as (
         select id, created_at from deliveries
         where endpoint_id = $1 and status = 'pending' and endings < $2
         order by endings, next_attempt_at limit ${CHUNK_ROWS} for update skip locked
       ), settled as (
         update deliveries d set status = 'failed', last_error = 'endpoint_disabled', next_attempt_at = null
         from chunk where d.id = chunk.id and d.created_at = chunk.created_at returning 1
       ) select count(*)::int as rows from settled`,
      [endpointId, endings],
    );
    if (rows > 0) return { kind: 'settle', endpointId, rows, isDone: false };
    // The chunk skipped rows that another transaction holds.
    const [done] = await this.store.query<{ endpoint_id: string }>(
      `with done as (
         update endpoint_endings set settled = $2 where endpoint_id = $1 and not exists (
           select from deliveries where endpoint_id = $1 and status = 'pending' and endings < $2
           order by endings, next_attempt_at limit 1
         ) returning endpoint_id
       ) select endpoint_id from done`,
      [endpointId, endings],
    );
    return { kind: 'settle', endpointId, rows, isDone: done !== undefined };
  }

  async #remove(endpointId: EndpointId): Promise<BacklogChunk> {
    let rows = await this.#count(REMOVE_ATTEMPTS, [endpointId]);
    if (rows === 0) rows = await this.#count(REMOVE_DELIVERIES, [endpointId]);
    if (rows > 0) return { kind: 'remove', endpointId, rows, isDone: false };
    const [done] = await this.store.query<{ endpoint_id: string }>(
      `with done as (
         delete from deleted_endpoints where endpoint_id = $1
           and not exists (select from deliveries where endpoint_id = $1)
           and not exists (select from delivery_attempts where endpoint_id = $1)
         returning endpoint_id
       ) select endpoint_id from done`,
      [endpointId],
    );
    return { kind: 'remove', endpointId, rows, isDone: done !== undefined };
  }

  async #count(sql: string, parameters: readonly unknown[]): Promise<number> {
    const [row] = await this.store.query<{ rows: number }>(sql, parameters);
    return row?.rows ?? 0;
  }
}

const REMOVE_ATTEMPTS = `
  with chunk as (
    select delivery_id, run, attempt, delivery_created_at from delivery_attempts
    where endpoint_id = $1 limit ${CHUNK_ROWS} for update skip locked
  ), removed as (
    delete from delivery_attempts a using chunk
    where a.delivery_id = chunk.delivery_id and a.run = chunk.run and a.attempt = chunk.attempt
      and a.delivery_created_at = chunk.delivery_created_at returning 1
  ) select count(*)::int as rows from removed`;

const REMOVE_DELIVERIES = `
  with chunk as (
    select id, created_at from deliveries where endpoint_id = $1 limit ${CHUNK_ROWS} for update skip locked
  ), removed as (
    delete from deliveries d using chunk where d.id = chunk.id and d.created_at = chunk.created_at returning 1
  ) select count(*)::int as rows from removed`;
