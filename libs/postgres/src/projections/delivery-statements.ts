import type { Attempted, DeliveryId, DeliveryState, EndpointHealth, EndpointId, OrgId } from '#libs/domain';
import type { DeliveryLedger } from './delivery-ledger.js';
import { DELIVERY_ALIASES, deliveryArrays, deliveryParameters, fromMs } from './delivery-row.js';
import { MOVED } from './projection-offsets.js';

/** Times in epoch milliseconds: `timestamptz` has microseconds, of which only whole milliseconds were ever written. */
const epochMs = (column: string) => `(extract(epoch from ${column}) * 1000)::bigint`;

/**
 * What a batch of facts works on, in one row: `LoadedFacts`. Rows are looked up one by one (`lateral … limit 1`): the plan is
 * made once, and one that was made while the tables were small would join by reading them whole.
 */
export const LOAD_FACTS = `
  select
    coalesce((select json_agg(e.id) from endpoints e where e.id = any($1::text[])), '[]') as endpoints,
    coalesce((
      select json_agg(json_build_object('endpointId', h.endpoint_id, 'orgId', h.org_id, 'activation', h.activation,
        'failureCount', h.failure_count, 'lastTriggeredAtMs', ${epochMs('h.last_triggered_at')},
        'lastSuccessAtMs', ${epochMs('h.last_success_at')}, 'lastFailureAtMs', ${epochMs('h.last_failure_at')},
        'lastError', h.last_error))
      from endpoint_health h where h.endpoint_id = any($1::text[])
    ), '[]') as health,
    coalesce((
      select json_agg(json_build_object('endpointId', n.endpoint_id, 'endings', n.endings))
      from endpoint_endings n where n.endpoint_id = any($1::text[])
    ), '[]') as endings,
    coalesce((
      select json_agg(json_build_object('id', d.id, 'endings', d.endings, 'run', d.run, 'status', d.status, 'attempts', d.attempts,
        'responseStatus', d.response_status, 'lastError', d.last_error,
        'nextAttemptAtMs', ${epochMs('d.next_attempt_at')}, 'deliveredAtMs', ${epochMs('d.delivered_at')}))
      from unnest($2::text[], $3::bigint[]) as wanted(id, created_ms)
      cross join lateral (
        select * from deliveries
        where id = wanted.id and created_at = to_timestamp(wanted.created_ms / 1000.0) limit 1
      ) d
    ), '[]') as deliveries,
    coalesce((
      select json_agg(a.delivery_id || '/' || a.run || '/' || a.attempt)
      from unnest($4::text[], $5::int[], $6::int[], $7::bigint[]) as made(id, run, attempt, created_ms)
      cross join lateral (
        select delivery_id, run, attempt from delivery_attempts
        where delivery_id = made.id and run = made.run and attempt = made.attempt
          and delivery_created_at = to_timestamp(made.created_ms / 1000.0) limit 1
      ) a
    ), '[]') as attempts`;

/** A stored row, and how often all pending deliveries of its endpoint had ended when it was written. */
export type LoadedDelivery = { readonly id: DeliveryId; readonly endings: number } & DeliveryState;

export interface LoadedFacts {
  readonly endpoints: readonly EndpointId[];
  readonly health: readonly ({ readonly endpointId: EndpointId; readonly orgId: OrgId } & EndpointHealth)[];
  readonly endings: readonly { readonly endpointId: EndpointId; readonly endings: number }[];
  readonly deliveries: readonly LoadedDelivery[];
  readonly attempts: readonly string[];
}

/**
 * All rows of a batch in one statement. The lock on the endpoints keeps them from being deleted meanwhile: whose
 * endpoint is gone is not written.
 */
export const APPLY_FACTS = `
  with ${MOVED}, present as (
    select id from endpoints where id = any($6::text[]) and exists (select from moved) order by id for key share
  ), attempts_made as (
    insert into delivery_attempts (delivery_id, run, attempt, delivery_created_at, org_id, endpoint_id, started_at,
      duration_ms, response_status, error, response_excerpt, clock_lead_ms)
    select id, run, attempt, to_timestamp(created_ms / 1000.0), org_id, endpoint_id, to_timestamp(started_ms / 1000.0),
      duration_ms, response_status, error, response_excerpt, lead_ms
    from unnest($7::text[], $8::int[], $9::int[], $10::bigint[], $11::uuid[], $12::text[], $13::bigint[], $14::int[],
      $15::int[], $16::text[], $17::text[], $40::bigint[])
      as fact(id, run, attempt, created_ms, org_id, endpoint_id, started_ms, duration_ms, response_status, error,
        response_excerpt, lead_ms)
    where endpoint_id in (select id from present)
  ), deliveries_changed as (
    insert into deliveries (id, created_at, org_id, endpoint_id, event_id, event_type, seq, run, status, attempts,
      response_status, last_error, next_attempt_at, delivered_at, endings)
    select id, to_timestamp(created_ms / 1000.0), org_id, endpoint_id, event_id, event_type, seq, run, status,
      attempts, response_status, last_error, next_attempt_at, delivered_at, endings
    from unnest(${deliveryArrays(18)}, $41::int[]) as row(${DELIVERY_ALIASES}, endings)
    where endpoint_id in (select id from present)
    on conflict (id, created_at) do update set
      run = excluded.run, status = excluded.status, attempts = excluded.attempts,
      response_status = excluded.response_status, last_error = excluded.last_error,
      next_attempt_at = excluded.next_attempt_at, delivered_at = excluded.delivered_at, endings = excluded.endings
  ), endings_changed as (
    insert into endpoint_endings (endpoint_id, org_id, endings)
    select endpoint_id, org_id, endings
    from unnest($42::text[], $43::uuid[], $44::int[]) as row(endpoint_id, org_id, endings)
    where endpoint_id in (select id from present)
    on conflict (endpoint_id) do update set endings = excluded.endings
  ), health_changed as (
    insert into endpoint_health (endpoint_id, org_id, activation, failure_count, last_triggered_at, last_success_at,
      last_failure_at, last_error)
    select endpoint_id, org_id, activation, failure_count, last_triggered_at, last_success_at, last_failure_at,
      last_error
    from unnest($32::text[], $33::uuid[], $34::int[], $35::int[], $36::timestamptz[], $37::timestamptz[],
      $38::timestamptz[], $39::text[])
      as row(endpoint_id, org_id, activation, failure_count, last_triggered_at, last_success_at, last_failure_at,
        last_error)
    where endpoint_id in (select id from present)
    on conflict (endpoint_id) do update set
      activation = excluded.activation, failure_count = excluded.failure_count,
      last_triggered_at = excluded.last_triggered_at, last_success_at = excluded.last_success_at,
      last_failure_at = excluded.last_failure_at, last_error = excluded.last_error
  )
  select count(*) as moved from moved`;

/** The result of a batch of facts. */
export interface FactBatch {
  /** The attempts that are not stored yet; each counts once, however often its fact comes. */
  readonly attempts: readonly Attempted[];
  readonly ledger: DeliveryLedger;
}

/** The parameters of `APPLY` behind those of `MOVED`. */
export function rowParameters({ attempts, ledger }: FactBatch): readonly unknown[] {
  const deliveries = [...ledger.deliveries.values()].flatMap(({ ref, state }) =>
    state === undefined ? [] : [{ ref, state }],
  );
  const health = [...ledger.health]
    .filter(([endpointId]) => ledger.healthChanged.has(endpointId))
    .map(([endpointId, { orgId, state }]) => ({ endpointId, orgId, state }));
  return [
    [
      ...new Set([
        ...deliveries.map(({ ref }) => ref.endpointId),
        ...health.map((row) => row.endpointId),
        ...ledger.ended.keys(),
      ]),
    ],
    attempts.map((fact) => fact.delivery.deliveryId),
    attempts.map((fact) => fact.run),
    attempts.map((fact) => fact.attempt),
    attempts.map((fact) => fact.delivery.createdAtMs),
    attempts.map((fact) => fact.delivery.orgId),
    attempts.map((fact) => fact.delivery.endpointId),
    attempts.map((fact) => fact.startedAtMs),
    attempts.map((fact) => fact.durationMs),
    attempts.map((fact) => fact.responseStatus),
    attempts.map((fact) => fact.error),
    attempts.map((fact) => fact.responseExcerpt),
    ...deliveryParameters(deliveries),
    health.map((row) => row.endpointId),
    health.map((row) => row.orgId),
    health.map(({ state }) => state.activation),
    health.map(({ state }) => state.failureCount),
    health.map(({ state }) => fromMs(state.lastTriggeredAtMs)),
    health.map(({ state }) => fromMs(state.lastSuccessAtMs)),
    health.map(({ state }) => fromMs(state.lastFailureAtMs)),
    health.map(({ state }) => state.lastError),
    attempts.map((fact) => fact.leadMs ?? null),
    deliveries.map(({ ref }) => ledger.endings.get(ref.endpointId) ?? 0),
    [...ledger.ended.keys()],
    [...ledger.ended.values()],
    [...ledger.ended.keys()].map((endpointId) => ledger.endings.get(endpointId) ?? 0),
  ];
}
