import { GaplessError, parseEventId } from '#libs/domain';
import { idPipe } from '../http/id-pipe.js';

/** The same error for an id that is unknown, malformed, of another org, or past retention. */
export function noSuchEvent(): GaplessError {
  return new GaplessError('not_found', 'There is no such event.');
}

/** Reads the `:id` of an event's path. */
export const EventIdPipe = idPipe(parseEventId, noSuchEvent);
