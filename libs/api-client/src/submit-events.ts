import type { ApiAnswer, ApiClient, ApiRequest } from './api-client.js';
import { ApiError, isStray } from './api-error.js';

/** An event to submit. */
export interface Submission {
  readonly id: string;
  /** The event with its id, as JSON. */
  readonly json: string;
}

/**
 * The answers of a proxy that stay the same: a permanent redirect, and 413 for a body that is larger than the proxy
 * takes. Fewer events may fit.
 */
const LASTING: readonly (number | undefined)[] = [301, 308, 413];

/**
 * Submits events in one request (contract 5.6), and resolves once Gapless has taken all of them. Another server at the
 * base URL may answer anything, so only 202 with the ids of the events counts, and only refusals by Gapless are final.
 * Other answers are retried, except `LASTING` ones.
 * @throws ApiError
 * @throws the signal's reason once it is aborted
 */
export async function submitEvents(
  api: ApiClient,
  events: readonly Submission[],
  options: Pick<ApiRequest, 'signal' | 'retries' | 'retriesUntil'> = {},
): Promise<void> {
  const body = `{"events":[${events.map(({ json }) => json).join(',')}]}`;
  const check = (answer: ApiAnswer): ApiError | undefined => {
    if (hasTaken(answer, events)) return undefined;
    const detail = 'the response does not say that Gapless has the events: check the base url';
    return new ApiError('unavailable', answer.status, 'unknown', detail);
  };
  const isOutage = (refusal: ApiError): boolean => isStray(refusal) && !LASTING.includes(refusal.status);
  await api.request({ ...options, method: 'POST', path: '/internal/events', body, check, isOutage });
}

function hasTaken({ status, body }: ApiAnswer, events: readonly Submission[]): boolean {
  const { data } = (body ?? {}) as { readonly data?: unknown };
  if (status !== 202 || !Array.isArray(data) || data.length !== events.length) return false;
  const taken = data as readonly ({ readonly id?: unknown } | null)[];
  return events.every(({ id }, index) => taken[index]?.id === id);
}
