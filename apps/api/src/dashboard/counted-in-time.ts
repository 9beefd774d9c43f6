import { TooMuchToCountError } from '#libs/postgres';
import { errorOf, memberPointer } from '../http/validation-error.js';

/**
 * Waits for figures of a window.
 * @param parameter the parameter that says how long the window is
 * @throws GaplessError `validation_failed` if the window has too much to count in time. It is not `unavailable`: the
 *   same request would fail again, and everything else works.
 */
export async function countedInTime<T>(parameter: string, counting: Promise<T>): Promise<T> {
  try {
    return await counting;
  } catch (error) {
    if (!(error instanceof TooMuchToCountError)) throw error;
    const detail = 'must be less: the window has too much to count in time';
    throw errorOf('validation_failed', [{ pointer: memberPointer(parameter), code: 'out_of_range', detail }]);
  }
}
