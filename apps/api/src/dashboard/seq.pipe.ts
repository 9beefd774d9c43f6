import type { PipeTransform } from '@nestjs/common';
import { GaplessError, seqFromText, type Seq } from '#libs/domain';

const SEQ = /^[1-9]\d{0,15}$/;

/** The same error for a seq that is malformed, not assigned yet, or past retention. */
export function noSuchEvent(): GaplessError {
  return new GaplessError('not_found', 'There is no such event.');
}

/** Reads the `:seq` of a path. */
export class SeqPipe implements PipeTransform<unknown, Seq> {
  /** @throws GaplessError `not_found` */
  transform(value: unknown): Seq {
    if (typeof value !== 'string' || !SEQ.test(value) || Number(value) > Number.MAX_SAFE_INTEGER) throw noSuchEvent();
    return seqFromText(value);
  }
}
