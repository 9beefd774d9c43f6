/** The most characters of a filter (contract 3.7). */
export const MAX_FILTER_LENGTH = 2_000;

/** What a filter says of an event. */
export type FilterResult =
  | { readonly kind: 'matches' }
  | { readonly kind: 'leaves_out' }
  /** The filter has no answer for this event, such as when a member is missing. */
  | { readonly kind: 'fails'; readonly reason: string };

/**
 * Evaluates the filters of endpoints. Results depend on the filter and the envelope's bytes alone, but that a filter
 * which proves too expensive for an organization has no answer there for a while.
 */
export interface EventFilters {
  /** Never throws. @param filter an expression that was accepted when it was registered */
  test(filter: string, envelope: Buffer): FilterResult;
}
