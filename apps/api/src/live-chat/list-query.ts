import { QueryParameters } from '../http/query-parameters.js';

/**
 * Returns the `limit` of a list that has no other parameter.
 * @throws GaplessError `malformed_request` or `validation_failed`
 */
export function limitIn(
  query: unknown,
  { max, fallback }: { readonly max: number; readonly fallback: number },
): number {
  const parameters = new QueryParameters(query, ['limit']);
  const limit = parameters.integer('limit', 1, max) ?? fallback;
  parameters.throwIfAny();
  return limit;
}
