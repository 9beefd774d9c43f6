import type { DeliveryRef, DeliveryState } from '#libs/domain';

/** The values of a row of the delivery log. */
interface DeliveryRow {
  readonly ref: DeliveryRef;
  readonly state: DeliveryState;
}

/** The columns of a delivery, with the type of each and where it comes from; `created_at` is given in milliseconds. */
const COLUMNS = [
  ['id', 'text', ({ ref }: DeliveryRow) => ref.deliveryId],
  ['created_ms', 'bigint', ({ ref }: DeliveryRow) => ref.createdAtMs],
  ['org_id', 'uuid', ({ ref }: DeliveryRow) => ref.orgId],
  ['endpoint_id', 'text', ({ ref }: DeliveryRow) => ref.endpointId],
  ['event_id', 'text', ({ ref }: DeliveryRow) => ref.eventId],
  ['event_type', 'text', ({ ref }: DeliveryRow) => ref.event],
  ['seq', 'bigint', ({ ref }: DeliveryRow) => ref.seq],
  ['run', 'int', ({ state }: DeliveryRow) => state.run],
  ['status', 'text', ({ state }: DeliveryRow) => state.status],
  ['attempts', 'int', ({ state }: DeliveryRow) => state.attempts],
  ['response_status', 'int', ({ state }: DeliveryRow) => state.responseStatus],
  ['last_error', 'text', ({ state }: DeliveryRow) => state.lastError],
  ['next_attempt_at', 'timestamptz', ({ state }: DeliveryRow) => fromMs(state.nextAttemptAtMs)],
  ['delivered_at', 'timestamptz', ({ state }: DeliveryRow) => fromMs(state.deliveredAtMs)],
] as const;

/** A column of `deliveries` that does not name the row. */
export type DeliveryColumn = Exclude<(typeof COLUMNS)[number][0], 'id' | 'created_ms'>;

export const DELIVERY_COLUMNS = COLUMNS.map(([name]) => name).filter(
  (name): name is DeliveryColumn => name !== 'id' && name !== 'created_ms',
);

/** The names of `deliveryParameters`, in their order. */
export const DELIVERY_ALIASES = COLUMNS.map(([name]) => name).join(', ');

/** `deliveryParameters` as arguments of `unnest`. @param first the number of the first parameter */
export function deliveryArrays(first: number): string {
  return COLUMNS.map(([, type], place) => `$${first + place}::${type}[]`).join(', ');
}

/** An array for each column. */
export function deliveryParameters(rows: readonly DeliveryRow[]): readonly (readonly unknown[])[] {
  return COLUMNS.map(([, , valueOf]) => rows.map((row): unknown => valueOf(row)));
}

/** How many parameters a delivery takes. */
export const DELIVERY_PARAMETERS = COLUMNS.length;

export function fromMs(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
