import type { PipeTransform } from '@nestjs/common';
import type { GaplessError } from '#libs/domain';

/**
 * Returns the pipe that reads an id of a path.
 * @param parse returns `undefined` for what is no such id
 * @param noSuch the error for it, and for an id of nothing
 */
export function idPipe<Id>(
  parse: (value: unknown) => Id | undefined,
  noSuch: () => GaplessError,
): PipeTransform<unknown, Id> {
  return {
    transform: (value) => {
      const id = parse(value);
      if (id === undefined) throw noSuch();
      return id;
    },
  };
}
