import { types } from 'node:util';
import { errorCode, GaplessError } from '#libs/domain';
import { SQL_STATES, sqlStateOf } from './sql-states.js';

/** The database that holds the feed of an org cannot be reached. Others can. */
export class FeedServerAwayError extends GaplessError {
  /** @param reason for operators; callers see neither it nor the name */
  constructor(
    readonly server: string,
    readonly reason: string,
  ) {
    super(
      'unavailable',
      'The service cannot reach the storage of this organization’s events at the moment. Nothing was changed; try again.',
      { cause: new Error(`the feed database ${server} cannot be reached: ${reason}`) },
    );
  }
}

/** The server may have committed the transaction, but did not say so. */
export class CommitLostError extends GaplessError {
  constructor(cause: unknown) {
    super(
      'unavailable',
      'The storage did not confirm the end of the request. It is not known whether the change was made. Look, or repeat the request with its Idempotency-Key.',
      { cause },
    );
  }
}

/** Another database is in place of the one that was opened. Nothing may be written to it. */
export class OtherDatabaseError extends Error {
  override readonly name = 'OtherDatabaseError';

  constructor(found: string | null, installation: string) {
    super(
      `the database belongs to ${found === null ? 'no installation' : `installation ${found}`} now, and not to ` +
        `${installation}: another one is in its place`,
    );
  }
}

/** The connection that held a lock was lost. Another process may have taken it meanwhile, and begun the same work. */
export class LockLostError extends Error {
  override readonly name = 'LockLostError';

  constructor(cause: unknown) {
    super(`the connection that kept others from doing the same was lost: ${awayReason(cause)}`, { cause });
  }
}

/** Something was asked before the store was opened, or after it was closed. */
export class StoreNotOpenError extends Error {
  override readonly name = 'StoreNotOpenError';

  constructor() {
    super('Postgres is not open');
  }
}

/**
 * SQLSTATEs of a server that is down or stopping: connection, operator intervention, resources. Of one that does not let
 * Gapless in. And of a connection that cannot be used any more: a transaction took or was idle for too long, a pooler has
 * dropped what was prepared, or the connection is read-only. It stays so when the server takes writes again.
 */
const AWAY = /^(08|28|3D|57P|53|25006|25P0[34]|26000)/;
/** Those of a server that does not let Gapless in: a wrong account or password, no TLS, no such database. */
const NOT_LET_IN = /^(28|3D)/;
const AWAY_ERRORS = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'],
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN'],
]);

/** Whether the statement was not sent, because the connection had been lost before it. */
function wasNotSent(error: Error): boolean {
  return error.name === 'QueryRunnerAlreadyReleasedError';
}

/** Whether the server did not answer the statement in time. It may be busy with it. */
export function isQueryTimeout(error: unknown): boolean {
  return types.isNativeError(error) && error.message.includes('Query read timeout');
}

/** Returns the error of a `commit`, as callers see it. */
export function commitError(error: unknown): unknown {
  return isPostgresAway(error) && !wasNotSent(error as Error) ? new CommitLostError(error) : error;
}

/** Whether the error means that Postgres cannot be used at the moment, not that it refused the statement. */
export function isPostgresAway(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  if (error instanceof FeedServerAwayError || error instanceof StoreNotOpenError) return true;
  if (error instanceof OtherDatabaseError || error instanceof LockLostError) return true;
  if (error instanceof CommitLostError || isQueryTimeout(error) || wasNotSent(error)) return true;
  const code = errorCode(error);
  if (AWAY.test(code) || AWAY_ERRORS.has(code)) return true;
  return /Connection terminated|timeout expired|timeout exceeded when trying to connect|Client has encountered a connection error/.test(
    error.message,
  );
}

/** Whether the statement names a table that is not there. Somebody dropped it, or has not restored it yet. */
export function isTableMissing(error: unknown): boolean {
  return sqlStateOf(error) === SQL_STATES.undefinedTable;
}

/** Whether Postgres does not let Gapless in. A process that starts ends then, since its settings are probably wrong. */
export function isNotLetIn(error: unknown): boolean {
  return NOT_LET_IN.test(sqlStateOf(error));
}

/** Why Postgres is waited for, in the words of its driver. */
export function awayReason(error: unknown): string {
  return types.isNativeError(error) && error.message !== '' ? error.message : 'Postgres cannot be reached';
}
