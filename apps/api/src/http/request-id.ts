import type { IncomingMessage } from 'node:http';
import { monotonicFactory } from 'ulid';
import type { Clock } from '#libs/domain';
import { RandomPool } from '#libs/runtime';

/** What a caller's own id may look like: nothing that a log line or a header could be confused by. */
const CALLERS_ID = /^[\w.:+/=-]{1,128}$/;

/** Names each request: by the caller's `X-Request-Id` if that is usable, else by a new ULID. */
export function requestIds(clock: Clock): (request: Pick<IncomingMessage, 'headers'>) => string {
  const ulid = monotonicFactory(new RandomPool().next);
  return ({ headers }) => {
    const callersId = headers['x-request-id'];
    return typeof callersId === 'string' && CALLERS_ID.test(callersId) ? callersId : ulid(clock.now());
  };
}
