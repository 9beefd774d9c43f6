import type { QueryRunner } from 'typeorm';
import {
  endDelivery,
  factEndpointId,
  foldDelivery,
  foldHealth,
  HEALTH_UNKNOWN,
  type Attempted,
  type DeliveryFact,
  type DeliveryId,
  type DeliveryRef,
  type DeliveryState,
  type DeliveryStatus,
  type EndpointHealth,
  type EndpointId,
  type OrgId,
} from '#libs/domain';
import { DayPartitions } from './day-partitions.js';
import { lockOffset, saveOffset, type Projected, type Stretch } from './projection-offsets.js';
import type { Store } from './store.js';

export interface FactAtOffset {
  readonly offset: number;
  readonly fact: DeliveryFact;
}

/** An endpoint that has failed too often in a row (spec 3.2). */
interface AutoDisabled {
  readonly endpointId: EndpointId;
  readonly activation: number;
  readonly atMs: number;
}

/** What a batch of facts works on: the rows that it touches, as they were and then as they become. */
class Ledger {
  readonly deliveries = new Map<DeliveryId, { readonly ref: DeliveryRef; state: DeliveryState | undefined }>();
  readonly health = new Map<EndpointId, { readonly orgId: OrgId; state: EndpointHealth }>();
  readonly autoDisabled: AutoDisabled[] = [];
  /** Endpoints whose pending deliveries have ended, the ones outside this ledger included. */
  readonly endedEndpoints = new Set<EndpointId>();

  fold(fact: DeliveryFact, isNewAttempt: boolean, autoDisableAfter: number): void {
    if (fact.type === 'endpoint_disabled') {
      this.#endPendingOf(fact.endpointId);
      return;
    }
    const delivery = this.deliveries.get(fact.delivery.deliveryId);
    if (delivery !== undefined) delivery.state = foldDelivery(delivery.state, fact);
    if (fact.type === 'attempted' && isNewAttempt) this.#foldHealth(fact, autoDisableAfter);
  }

  #foldHealth(fact: Attempted, autoDisableAfter: number): void {
    const { endpointId, orgId } = fact.delivery;
    const before = this.health.get(endpointId)?.state ?? HEALTH_UNKNOWN;
    const { health, disables } = foldHealth(before, fact, autoDisableAfter);
    this.health.set(endpointId, { orgId, state: health });
    if (!disables) return;
    this.autoDisabled.push({
      endpointId,
      activation: fact.activation,
      atMs: fact.startedAtMs + fact.durationMs,
    });
    this.#endPendingOf(endpointId);
  }

  #endPendingOf(endpointId: EndpointId): void {
    this.endedEndpoints.add(endpointId);
    for (const delivery of this.deliveries.values()) {
      if (delivery.ref.endpointId === endpointId && delivery.state !== undefined) {
        delivery.state = endDelivery(delivery.state, 'endpoint_disabled');
      }
    }
  }
}

function attemptKey(deliveryId: string, run: number, attempt: number): string {
  return `${deliveryId}/${run}/${attempt}`;
}

function fromMs(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

function toMs(date: Date | null): number | null {
  return date === null ? null : date.getTime();
}

/** Folds the delivery facts into deliveries, attempts and endpoint health, together with the offset they stand for. */
export class DeliveryProjection {
  readonly #partitions: DayPartitions;

  constructor(
    private readonly store: Store,
    private readonly autoDisableAfter: number,
  ) {
    this.#partitions = new DayPartitions(store);
  }

  /** @param facts of one partition of the deliveries topic, ascending */
  async apply(stretch: Stretch, facts: readonly FactAtOffset[]): Promise<Projected> {
    await this.#partitions.ensure(
      facts.flatMap(({ fact }) => (fact.type === 'endpoint_disabled' ? [] : [fact.delivery.createdAtMs])),
    );
    return this.store.transaction(async (runner): Promise<Projected> => {
      const goesOnAt = await lockOffset(runner, stretch);
      if (goesOnAt !== null && goesOnAt < stretch.firstOffset) return { kind: 'behind', nextOffset: goesOnAt };
      if (goesOnAt !== null && goesOnAt >= stretch.nextOffset) return { kind: 'applied' };
      const unseen = facts.filter(({ offset }) => offset >= (goesOnAt ?? 0)).map(({ fact }) => fact);
      await this.#fold(runner, await this.#ofPresentEndpoints(runner, unseen));
      await saveOffset(runner, stretch);
      return { kind: 'applied' };
    });
  }

  /** A deleted endpoint leaves no rows behind; the lock keeps it from being deleted in between. */
  async #ofPresentEndpoints(runner: QueryRunner, facts: readonly DeliveryFact[]): Promise<readonly DeliveryFact[]> {
    const ids = [...new Set(facts.map(factEndpointId))];
    if (ids.length === 0) return facts;
    const rows = (await runner.query('select id from endpoints where id = any($1) order by id for key share', [
      ids,
    ])) as { id: EndpointId }[];
    const present = new Set(rows.map((row) => row.id));
    return facts.filter((fact) => present.has(factEndpointId(fact)));
  }

  async #fold(runner: QueryRunner, facts: readonly DeliveryFact[]): Promise<void> {
    if (facts.length === 0) return;
    const ledger = new Ledger();
    await this.#loadDeliveries(runner, ledger, facts);
    await this.#loadHealth(runner, ledger, facts);
    const newAttempts = await this.#insertAttempts(
      runner,
      facts.filter((fact) => fact.type === 'attempted'),
    );
    for (const fact of facts) {
      // Of a fact that came twice in one batch, the first counts.
      const isNew =
        fact.type === 'attempted' && newAttempts.delete(attemptKey(fact.delivery.deliveryId, fact.run, fact.attempt));
      ledger.fold(fact, isNew, this.autoDisableAfter);
    }
    await this.#saveDeliveries(runner, ledger);
    await this.#saveHealth(runner, ledger);
    await this.#endEndpoints(runner, ledger);
  }

  async #loadDeliveries(runner: QueryRunner, ledger: Ledger, facts: readonly DeliveryFact[]): Promise<void> {
    for (const fact of facts) {
      if (fact.type === 'endpoint_disabled') continue;
      ledger.deliveries.set(fact.delivery.deliveryId, { ref: fact.delivery, state: undefined });
    }
    const refs = [...ledger.deliveries.values()].map(({ ref }) => ref);
    if (refs.length === 0) return;
    const rows = (await runner.query(
      `select d.id, d.run, d.status, d.attempts, d.response_status, d.last_error, d.next_attempt_at, d.delivered_at
       from unnest($1::text[], $2::bigint[]) as wanted(id, created_ms)
       join deliveries d on d.id = wanted.id and d.created_at = to_timestamp(wanted.created_ms / 1000.0)`,
      [refs.map((ref) => ref.deliveryId), refs.map((ref) => ref.createdAtMs)],
    )) as {
      id: DeliveryId;
      run: number;
      status: DeliveryStatus;
      attempts: number;
      response_status: number | null;
      last_error: string | null;
      next_attempt_at: Date | null;
      delivered_at: Date | null;
    }[];
    for (const row of rows) {
      const delivery = ledger.deliveries.get(row.id);
      if (delivery === undefined) continue;
      delivery.state = {
        run: row.run,
        status: row.status,
        attempts: row.attempts,
        responseStatus: row.response_status,
        lastError: row.last_error,
        nextAttemptAtMs: toMs(row.next_attempt_at),
        deliveredAtMs: toMs(row.delivered_at),
      };
    }
  }

  async #loadHealth(runner: QueryRunner, ledger: Ledger, facts: readonly DeliveryFact[]): Promise<void> {
    const rows = (await runner.query('select * from endpoint_health where endpoint_id = any($1)', [
      [...new Set(facts.map(factEndpointId))],
    ])) as {
      endpoint_id: EndpointId;
      org_id: OrgId;
      activation: number;
      failure_count: number;
      last_triggered_at: Date | null;
      last_success_at: Date | null;
      last_failure_at: Date | null;
      last_error: string | null;
    }[];
    for (const row of rows) {
      ledger.health.set(row.endpoint_id, {
        orgId: row.org_id,
        state: {
          activation: row.activation,
          failureCount: row.failure_count,
          lastTriggeredAtMs: toMs(row.last_triggered_at),
          lastSuccessAtMs: toMs(row.last_success_at),
          lastFailureAtMs: toMs(row.last_failure_at),
          lastError: row.last_error,
        },
      });
    }
  }

  /** @returns the keys of the attempts that were not there: each counts once, however often its fact comes */
  async #insertAttempts(runner: QueryRunner, facts: readonly Attempted[]): Promise<Set<string>> {
    if (facts.length === 0) return new Set();
    const rows = (await runner.query(
      `with made as (
         insert into delivery_attempts (delivery_id, run, attempt, delivery_created_at, org_id, endpoint_id,
           started_at, duration_ms, response_status, error, response_excerpt)
         select id, run, attempt, to_timestamp(created_ms / 1000.0), org_id, endpoint_id,
           to_timestamp(started_ms / 1000.0), duration_ms, response_status, error, response_excerpt
         from unnest($1::text[], $2::int[], $3::int[], $4::bigint[], $5::uuid[], $6::text[], $7::bigint[], $8::int[],
           $9::int[], $10::text[], $11::text[])
           as fact(id, run, attempt, created_ms, org_id, endpoint_id, started_ms, duration_ms, response_status, error,
             response_excerpt)
         on conflict do nothing
         returning delivery_id, run, attempt
       )
       select * from made`,
      [
        facts.map((fact) => fact.delivery.deliveryId),
        facts.map((fact) => fact.run),
        facts.map((fact) => fact.attempt),
        facts.map((fact) => fact.delivery.createdAtMs),
        facts.map((fact) => fact.delivery.orgId),
        facts.map((fact) => fact.delivery.endpointId),
        facts.map((fact) => fact.startedAtMs),
        facts.map((fact) => fact.durationMs),
        facts.map((fact) => fact.responseStatus),
        facts.map((fact) => fact.error),
        facts.map((fact) => fact.responseExcerpt),
      ],
    )) as { delivery_id: string; run: number; attempt: number }[];
    return new Set(rows.map((row) => attemptKey(row.delivery_id, row.run, row.attempt)));
  }

  async #saveDeliveries(runner: QueryRunner, ledger: Ledger): Promise<void> {
    const rows = [...ledger.deliveries.values()].flatMap(({ ref, state }) =>
      state === undefined ? [] : [{ ref, state }],
    );
    if (rows.length === 0) return;
    await runner.query(
      `insert into deliveries (id, created_at, org_id, endpoint_id, event_id, event_type, seq, run, status, attempts,
         response_status, last_error, next_attempt_at, delivered_at)
       select id, to_timestamp(created_ms / 1000.0), org_id, endpoint_id, event_id, event_type, seq, run, status,
         attempts, response_status, last_error, next_attempt_at, delivered_at
       from unnest($1::text[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::int[],
         $9::text[], $10::int[], $11::int[], $12::text[], $13::timestamptz[], $14::timestamptz[])
         as row(id, created_ms, org_id, endpoint_id, event_id, event_type, seq, run, status, attempts,
           response_status, last_error, next_attempt_at, delivered_at)
       on conflict (id, created_at) do update set
         run = excluded.run, status = excluded.status, attempts = excluded.attempts,
         response_status = excluded.response_status, last_error = excluded.last_error,
         next_attempt_at = excluded.next_attempt_at, delivered_at = excluded.delivered_at`,
      [
        rows.map(({ ref }) => ref.deliveryId),
        rows.map(({ ref }) => ref.createdAtMs),
        rows.map(({ ref }) => ref.orgId),
        rows.map(({ ref }) => ref.endpointId),
        rows.map(({ ref }) => ref.eventId),
        rows.map(({ ref }) => ref.event),
        rows.map(({ ref }) => ref.seq),
        rows.map(({ state }) => state.run),
        rows.map(({ state }) => state.status),
        rows.map(({ state }) => state.attempts),
        rows.map(({ state }) => state.responseStatus),
        rows.map(({ state }) => state.lastError),
        rows.map(({ state }) => fromMs(state.nextAttemptAtMs)),
        rows.map(({ state }) => fromMs(state.deliveredAtMs)),
      ],
    );
  }

  async #saveHealth(runner: QueryRunner, ledger: Ledger): Promise<void> {
    const rows = [...ledger.health].map(([endpointId, { orgId, state }]) => ({ endpointId, orgId, state }));
    if (rows.length === 0) return;
    await runner.query(
      `insert into endpoint_health (endpoint_id, org_id, activation, failure_count, last_triggered_at, last_success_at,
         last_failure_at, last_error)
       select * from unnest($1::text[], $2::uuid[], $3::int[], $4::int[], $5::timestamptz[], $6::timestamptz[],
         $7::timestamptz[], $8::text[])
       on conflict (endpoint_id) do update set
         activation = excluded.activation, failure_count = excluded.failure_count,
         last_triggered_at = excluded.last_triggered_at, last_success_at = excluded.last_success_at,
         last_failure_at = excluded.last_failure_at, last_error = excluded.last_error`,
      [
        rows.map((row) => row.endpointId),
        rows.map((row) => row.orgId),
        rows.map(({ state }) => state.activation),
        rows.map(({ state }) => state.failureCount),
        rows.map(({ state }) => fromMs(state.lastTriggeredAtMs)),
        rows.map(({ state }) => fromMs(state.lastSuccessAtMs)),
        rows.map(({ state }) => fromMs(state.lastFailureAtMs)),
        rows.map(({ state }) => state.lastError),
      ],
    );
  }

  /**
   * The rows of this batch hold their outcome already; all others that are pending precede it. Disabling compares the
   * activation, so that a rebuild does not disable what an operator has enabled since.
   */
  async #endEndpoints(runner: QueryRunner, ledger: Ledger): Promise<void> {
    if (ledger.endedEndpoints.size > 0) {
      await runner.query(
        `update deliveries set status = 'failed', last_error = 'endpoint_disabled', next_attempt_at = null
         where endpoint_id = any($1) and status = 'pending' and id <> all($2)`,
        [[...ledger.endedEndpoints], [...ledger.deliveries.keys()]],
      );
    }
    for (const { endpointId, activation, atMs } of ledger.autoDisabled) {
      await runner.query(
        `with disabled as (
           update endpoints set is_active = false, disabled_at = $3, disabled_reason = 'consecutive_failures'
           where id = $1 and activation = $2 and is_active
           returning id, org_id, activation, disabled_at
         )
         insert into endpoint_inactive_periods (endpoint_id, org_id, activation, began_at) select * from disabled`,
        [endpointId, activation, new Date(atMs)],
      );
    }
  }
}
