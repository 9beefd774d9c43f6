import type { PipeTransform } from '@nestjs/common';
import { GaplessError, parseEventId, type EventId } from '#libs/domain';

/** The same error for an id that is unknown, malformed, of another org, or past retention. */
export function noSuchEvent(): GaplessError {
  return new GaplessError('not_found', 'There is no such event.');
}

/** Reads the `:id` of an event's path. */
export class EventIdPipe implements PipeTransform<unknown, EventId> {
  /** @throws GaplessError `not_found` */
  transform(value: unknown): EventId {
    const id = parseEventId(value);
    if (id === undefined) throw noSuchEvent();
    return id;
  }
}
