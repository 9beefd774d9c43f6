import type { PipeTransform } from '@nestjs/common';
import { parseEventId, seqFromText, type EventId, type Seq } from '#libs/domain';
import { noSuchEvent } from '../events/event-id.pipe.js';

const SEQ = /^[1-9]\d{0,15}$/;

/** Names one event of an org. */
export type EventName = { readonly seq: Seq } | { readonly id: EventId };

/** Reads the `:seq` of a path, which may also be the id of the event. */
export class EventNamePipe implements PipeTransform<unknown, EventName> {
  /** @throws GaplessError `not_found` */
  transform(value: unknown): EventName {
    const id = parseEventId(value);
    if (id !== undefined) return { id };
    if (typeof value !== 'string' || !SEQ.test(value) || Number(value) > Number.MAX_SAFE_INTEGER) throw noSuchEvent();
    return { seq: seqFromText(value) };
  }
}
