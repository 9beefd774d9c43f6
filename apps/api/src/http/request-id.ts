import type { IncomingMessage } from 'node:http';
import { monotonicFactory } from 'ulid';
import type { Clock } from '#libs/domain';
import { RandomPool } from '#libs/runtime';

/** The format of a caller's own id: it must not break a log line or a header. */
const CALLERS_ID = /^[\w.:+/=-]{1,128}$/;

/** Names each request: by the caller's `X-Request-Id` if it is valid, otherwise by a new ULID. */
export function requestIds(clock: Clock): (request: Pick<IncomingMessage, 'headers'>) => string {
  const ulid = monotonicFactory(new RandomPool().next);
  return ({ headers }) => {
    const callersId = headers['x-request-id'];
    return typeof callersId === 'string' && CALLERS_ID.test(callersId) ? callersId : ulid(clock.now());
  };
}
