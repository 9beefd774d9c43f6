import { GaplessError, parseApiKeyId } from '#libs/domain';
import { idPipe } from '../http/id-pipe.js';

/** The same error for an id that is unknown, malformed, or of another org (contract 8). */
export function noSuchApiKey(): GaplessError {
  return new GaplessError('not_found', 'There is no such key.');
}

/** Reads the `:id` of a key's path. */
export const ApiKeyIdPipe = idPipe(parseApiKeyId, noSuchApiKey);
