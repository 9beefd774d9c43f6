import type { Attempted, DeliveryId, DeliveryState, EndpointHealth, EndpointId, OrgId } from '#libs/domain';
import type { DeliveryLedger } from './delivery-ledger.js';
import {
  ATTEMPT_COLUMNS,
  DELIVERY_COLUMNS,
  DELIVERY_STATE,
  HEALTH_COLUMNS,
  HEALTH_STATE,
  type DeliveryRow,
} from './delivery-row.js';
import { MOVED, MOVE_PARAMETERS } from './projection-offsets.js';
import { jsonMembers, RowShape, updates } from './row-shape.js';

/**
 * Loads the rows that a batch of facts works on, as one row: `LoadedFacts`. It looks rows up one by one (`lateral …
 * limit 1`), because the plan is made once. A plan from when the tables were small would read them whole.
 */
export const LOAD_FACTS = `
  select
    coalesce((select json_agg(e.id) from endpoints e where e.id = any($1::text[])), '[]') as endpoints,
    coalesce((
      select json_agg(json_build_object('endpointId', h.endpoint_id, 'orgId', h.org_id, ${jsonMembers('h', HEALTH_STATE)}))
      from endpoint_health h where h.endpoint_id = any($1::text[])
    ), '[]') as health,
    coalesce((
      select json_agg(json_build_object('endpointId', n.endpoint_id, 'endings', n.endings))
      from endpoint_endings n where n.endpoint_id = any($1::text[])
    ), '[]') as endings,
    coalesce((
      select json_agg(json_build_object('id', d.id, 'endings', d.endings, ${jsonMembers('d', DELIVERY_STATE)}))
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

/** A stored row, and its endpoint's count of endings when the row was written. */
export type LoadedDelivery = { readonly id: DeliveryId; readonly endings: number } & DeliveryState;

export interface LoadedFacts {
  readonly endpoints: readonly EndpointId[];
  readonly health: readonly ({ readonly endpointId: EndpointId; readonly orgId: OrgId } & EndpointHealth)[];
  readonly endings: readonly { readonly endpointId: EndpointId; readonly endings: number }[];
  readonly deliveries: readonly LoadedDelivery[];
  readonly attempts: readonly string[];
}

type CountedRow = DeliveryRow & { readonly endings: number };
interface EndingsRow {
  readonly endpointId: EndpointId;
  readonly orgId: OrgId;
  readonly endings: number;
}

const ATTEMPTS = new RowShape(ATTEMPT_COLUMNS);
const DELIVERIES = new RowShape<CountedRow>([...DELIVERY_COLUMNS, ['endings', 'int', ({ endings }) => endings]]);
const HEALTH = new RowShape(HEALTH_COLUMNS);
const ENDINGS = new RowShape<EndingsRow>([
  ['endpoint_id', 'text', ({ endpointId }) => endpointId],
  ['org_id', 'uuid', ({ orgId }) => orgId],
  ['endings', 'int', ({ endings }) => endings],
]);

/** The numbers of the parameters, in the order of `rowParameters`. */
const PRESENT_AT = MOVE_PARAMETERS + 1;
const ATTEMPTS_AT = PRESENT_AT + 1;
const DELIVERIES_AT = ATTEMPTS_AT + ATTEMPTS.size;
const HEALTH_AT = DELIVERIES_AT + DELIVERIES.size;
const ENDINGS_AT = HEALTH_AT + HEALTH.size;

const namesOf = (members: readonly (readonly [name: string, ...unknown[]])[]) => members.map(([name]) => name);

/**
 * Writes all rows of a batch in one statement. It locks the endpoints so that they cannot be deleted meanwhile. Rows of
 * deleted endpoints are not written.
 */
export const APPLY_FACTS = `
  with ${MOVED}, present as (
    select id from endpoints where id = any($${PRESENT_AT}::text[]) and exists (select from moved) order by id for key share
  ), attempts_made as (
    insert into delivery_attempts (${ATTEMPTS.names})
    select ${ATTEMPTS.values('attempt')} from ${ATTEMPTS.from('attempt', ATTEMPTS_AT)}
    where endpoint_id in (select id from present)
  ), deliveries_changed as (
    insert into deliveries (${DELIVERIES.names})
    select ${DELIVERIES.values('delivery')} from ${DELIVERIES.from('delivery', DELIVERIES_AT)}
    where endpoint_id in (select id from present)
    on conflict (id, created_at) do update set ${updates([...namesOf(DELIVERY_STATE), 'endings'])},
      previous_seq = coalesce(deliveries.previous_seq, excluded.previous_seq)
  ), health_changed as (
    insert into endpoint_health (${HEALTH.names})
    select ${HEALTH.values('health')} from ${HEALTH.from('health', HEALTH_AT)}
    where endpoint_id in (select id from present)
    on conflict (endpoint_id) do update set ${updates(namesOf(HEALTH_STATE))}
  ), endings_changed as (
    insert into endpoint_endings (${ENDINGS.names})
    select ${ENDINGS.values('ending')} from ${ENDINGS.from('ending', ENDINGS_AT)}
    where endpoint_id in (select id from present)
    on conflict (endpoint_id) do update set ${updates(['endings'])}
  )
  select count(*) as moved from moved`;

/** The result of a batch of facts. */
export interface FactBatch {
  /** The attempts that are not stored yet, without repeats. */
  readonly attempts: readonly Attempted[];
  readonly ledger: DeliveryLedger;
}

/** Returns the parameters of `APPLY_FACTS` after those of `MOVED`. */
export function rowParameters({ attempts, ledger }: FactBatch): readonly unknown[] {
  const endingsOf = (endpointId: EndpointId) => ledger.endings.get(endpointId) ?? 0;
  const deliveries = [...ledger.deliveries.values()].flatMap(({ ref, state }) =>
    state === undefined ? [] : [{ ref, state, endings: endingsOf(ref.endpointId) }],
  );
  const health = [...ledger.health]
    .filter(([endpointId]) => ledger.healthChanged.has(endpointId))
    .map(([endpointId, { orgId, state }]) => ({ endpointId, orgId, state }));
  const endings = [...ledger.ended].map(([endpointId, orgId]) => ({
    endpointId,
    orgId,
    endings: endingsOf(endpointId),
  }));
  const endpoints = [...deliveries.map(({ ref }) => ref), ...health, ...endings].map(({ endpointId }) => endpointId);
  return [
    [...new Set(endpoints)],
    ...ATTEMPTS.parameters(attempts),
    ...DELIVERIES.parameters(deliveries),
    ...HEALTH.parameters(health),
    ...ENDINGS.parameters(endings),
  ];
}
