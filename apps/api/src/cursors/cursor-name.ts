import type { PipeTransform } from '@nestjs/common';
import { GaplessError } from '#libs/domain';
import { idPipe } from '../http/id-pipe.js';

/** Safe in a path and in a query without escapes, and short enough for a table. */
export const CURSOR_NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The same error for a name that is unknown, malformed, or of another org (contract 8). */
export function noSuchCursor(): GaplessError {
  return new GaplessError('not_found', 'There is no such cursor. Create it with PUT /external/cursors/:name.');
}

/** Returns the name if it is one. */
export function parseCursorName(value: unknown): string | undefined {
  return typeof value === 'string' && CURSOR_NAME_PATTERN.test(value) ? value : undefined;
}

/** Reads the `:name` of a cursor's path. */
export const CursorNamePipe = idPipe(parseCursorName, noSuchCursor);

/** Reads the `:name` of a cursor that may be created. */
export class NewCursorNamePipe implements PipeTransform<unknown, string> {
  /** @throws GaplessError `validation_failed`, since the caller may think that the name is allowed */
  transform(value: unknown): string {
    const name = parseCursorName(value);
    if (name !== undefined) return name;
    const detail = 'must be 1 to 64 letters, digits, dots, underscores and hyphens, and begin with a letter or digit';
    throw new GaplessError('validation_failed', `The name of a cursor ${detail}.`, {
      problems: [{ pointer: '#/name', code: 'invalid_format', detail }],
    });
  }
}
