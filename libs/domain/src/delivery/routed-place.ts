/** How far a partition of the log was routed. Kept apart from the consumer group's offsets, because those expire. */
export interface RoutedPlace {
  /** The offset after the last routed record. */
  readonly nextOffset: number;
  /** The broker's time of the latest routed record, epoch milliseconds. */
  readonly appendedUntilMs: number;
}

/**
 * Whether a record was routed before, by its offset and its time. If the log went back or was created again, new
 * records have old offsets but later times.
 */
export function wasRouted(
  place: RoutedPlace,
  record: { readonly offset: number; readonly timestampMs: number },
): boolean {
  return record.offset < place.nextOffset && record.timestampMs <= place.appendedUntilMs;
}
