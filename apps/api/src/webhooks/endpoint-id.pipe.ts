import { GaplessError, parseEndpointId } from '#libs/domain';
import { idPipe } from '../http/id-pipe.js';

/** The same error for an id that is unknown, malformed, or of another org (contract 8). */
export function noSuchEndpoint(): GaplessError {
  return new GaplessError('not_found', 'There is no such endpoint.');
}

/** Reads the `:id` of an endpoint's path. */
export const EndpointIdPipe = idPipe(parseEndpointId, noSuchEndpoint);
