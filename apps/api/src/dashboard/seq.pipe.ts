import type { PipeTransform } from '@nestjs/common';
import { seqFromText, type Seq } from '#libs/domain';
import { noSuchEvent } from '../events/event-id.pipe.js';

const SEQ = /^[1-9]\d{0,15}$/;

/** Reads the `:seq` of a path. */
export class SeqPipe implements PipeTransform<unknown, Seq> {
  /** @throws GaplessError `not_found` */
  transform(value: unknown): Seq {
    if (typeof value !== 'string' || !SEQ.test(value) || Number(value) > Number.MAX_SAFE_INTEGER) throw noSuchEvent();
    return seqFromText(value);
  }
}
