import type { PipeTransform } from '@nestjs/common';
import { GaplessError, parseRecoveryId, type RecoveryId } from '#libs/domain';

/** The same error for an id that is unknown, malformed, or of another org or endpoint (contract 8). */
export function noSuchRecovery(): GaplessError {
  return new GaplessError('not_found', 'There is no such recovery.');
}

/** Reads the `:recoveryId` of a path. */
export class RecoveryIdPipe implements PipeTransform<unknown, RecoveryId> {
  /** @throws GaplessError `not_found` */
  transform(value: unknown): RecoveryId {
    const id = parseRecoveryId(value);
    if (id === undefined) throw noSuchRecovery();
    return id;
  }
}
