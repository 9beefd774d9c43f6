import type { Attempted, DeliveryRef, DeliveryState, EndpointHealth, EndpointId, OrgId } from '#libs/domain';
import type { Column, Member } from './row-shape.js';

// Names each column of a delivery, an attempt or an endpoint's health once. All code that loads, writes, shows or
// compares them uses these lists.

const DELIVERY_REF = [
  ['id', 'text', 'deliveryId'],
  ['created_at', 'ms', 'createdAtMs'],
  ['org_id', 'uuid', 'orgId'],
  ['endpoint_id', 'text', 'endpointId'],
  ['event_id', 'text', 'eventId'],
  ['event_type', 'text', 'event'],
  ['seq', 'bigint', 'seq'],
  ['previous_seq', 'bigint', 'previousSeq'],
] as const satisfies readonly Member<DeliveryRef>[];

/** The columns that facts change. */
export const DELIVERY_STATE = [
  ['run', 'int', 'run'],
  ['status', 'text', 'status'],
  ['attempts', 'int', 'attempts'],
  ['response_status', 'int', 'responseStatus'],
  ['last_error', 'text', 'lastError'],
  ['next_attempt_at', 'ms', 'nextAttemptAtMs'],
  ['delivered_at', 'ms', 'deliveredAtMs'],
] as const satisfies readonly Member<DeliveryState>[];

/** All columns of a delivery that the delivery log shows, without its attempts. */
export const DELIVERY_MEMBERS = [...DELIVERY_REF, ...DELIVERY_STATE] as const satisfies readonly Member<
  DeliveryRef & DeliveryState
>[];

/** A column of `deliveries` that is not part of the key. */
export type DeliveryColumn = Exclude<(typeof DELIVERY_MEMBERS)[number][0], 'id' | 'created_at'>;

/** The values of a row of the delivery log. */
export interface DeliveryRow {
  readonly ref: DeliveryRef;
  readonly state: DeliveryState;
}

export const DELIVERY_COLUMNS: readonly Column<DeliveryRow>[] = [
  ...DELIVERY_REF.map(([name, type, member]) => [name, type, ({ ref }: DeliveryRow) => ref[member] ?? null] as const),
  ...DELIVERY_STATE.map(([name, type, member]) => [name, type, ({ state }: DeliveryRow) => state[member]] as const),
  ['lane', 'int', ({ ref }) => ref.lane ?? null],
  ['is_urgent', 'boolean', ({ ref }) => ref.isUrgent ?? null],
];

export const ATTEMPT_COLUMNS: readonly Column<Attempted>[] = [
  ['delivery_id', 'text', ({ delivery }) => delivery.deliveryId],
  ['run', 'int', ({ run }) => run],
  ['attempt', 'int', ({ attempt }) => attempt],
  ['delivery_created_at', 'ms', ({ delivery }) => delivery.createdAtMs],
  ['org_id', 'uuid', ({ delivery }) => delivery.orgId],
  ['endpoint_id', 'text', ({ delivery }) => delivery.endpointId],
  ['started_at', 'ms', ({ startedAtMs }) => startedAtMs],
  ['duration_ms', 'int', ({ durationMs }) => durationMs],
  ['response_status', 'int', ({ responseStatus }) => responseStatus],
  ['error', 'text', ({ error }) => error],
  ['response_excerpt', 'text', ({ responseExcerpt }) => responseExcerpt],
  ['clock_lead_ms', 'bigint', ({ leadMs }) => leadMs ?? null],
  ['batch_first_seq', 'bigint', ({ batch }) => batch?.[0] ?? null],
  ['batch_last_seq', 'bigint', ({ batch }) => batch?.[1] ?? null],
  ['due_at', 'ms', ({ dueAtMs }) => dueAtMs ?? null],
  ['waited_for', 'text', ({ waitedFor }) => waitedFor ?? null],
];

export const HEALTH_STATE = [
  ['activation', 'int', 'activation'],
  ['ended_activation', 'int', 'endedActivation'],
  ['ended_at', 'ms', 'endedAtMs'],
  ['failure_count', 'int', 'failureCount'],
  ['last_triggered_at', 'ms', 'lastTriggeredAtMs'],
  ['last_success_at', 'ms', 'lastSuccessAtMs'],
  ['last_failure_at', 'ms', 'lastFailureAtMs'],
  ['last_error', 'text', 'lastError'],
] as const satisfies readonly Member<EndpointHealth>[];

/** The values of a row of the endpoints' health. */
export interface HealthRow {
  readonly endpointId: EndpointId;
  readonly orgId: OrgId;
  readonly state: EndpointHealth;
}

export const HEALTH_COLUMNS: readonly Column<HealthRow>[] = [
  ['endpoint_id', 'text', ({ endpointId }) => endpointId],
  ['org_id', 'uuid', ({ orgId }) => orgId],
  ...HEALTH_STATE.map(([name, type, member]) => [name, type, ({ state }: HealthRow) => state[member]] as const),
];
