import { ApiProblem } from './api-problem.js';

const MAX_RETRIES = 2;

/**
 * Whether a query is asked again. A refused request would be refused again. A server that could not be reached may be
 * back for the next one.
 */
export function mayBeAskedAgain(failures: number, error: unknown): boolean {
  return failures < MAX_RETRIES && !(error instanceof ApiProblem && error.status < 500 && error.status !== 429);
}
