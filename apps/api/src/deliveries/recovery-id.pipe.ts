import { GaplessError, parseRecoveryId } from '#libs/domain';
import { idPipe } from '../http/id-pipe.js';

/** The same error for an id that is unknown, malformed, or of another org or endpoint (contract 8). */
export function noSuchRecovery(): GaplessError {
  return new GaplessError('not_found', 'There is no such recovery.');
}

/** Reads the `:recoveryId` of a path. */
export const RecoveryIdPipe = idPipe(parseRecoveryId, noSuchRecovery);
