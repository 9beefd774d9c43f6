import type { PipeTransform } from '@nestjs/common';
import { GaplessError, parseEndpointId, type EndpointId } from '#libs/domain';

/** The same error for an id that is unknown, malformed, or of another org (contract 8). */
export function noSuchEndpoint(): GaplessError {
  return new GaplessError('not_found', 'There is no such endpoint.');
}

/** Reads the `:id` of an endpoint's path. */
export class EndpointIdPipe implements PipeTransform<unknown, EndpointId> {
  /** @throws GaplessError `not_found` */
  transform(value: unknown): EndpointId {
    const id = parseEndpointId(value);
    if (id === undefined) throw noSuchEndpoint();
    return id;
  }
}
