import { ApiProblem } from './api-problem.js';
import { NoAnswer } from './no-answer.js';

const MAX_RETRIES = 2;

/**
 * Whether a query is asked again. A refused request would be refused again, and a reader has waited long enough for one
 * that was not answered in time. A server that could not be reached may be back for the next one.
 */
export function mayBeAskedAgain(failures: number, error: unknown): boolean {
  if (error instanceof NoAnswer && error.reason === 'too late') return false;
  return failures < MAX_RETRIES && !(error instanceof ApiProblem && error.status < 500 && error.status !== 429);
}
