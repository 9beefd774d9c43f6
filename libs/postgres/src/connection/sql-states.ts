import { errorCode } from '#libs/domain';

/** The SQLSTATEs that Gapless looks for, by the names that Postgres gives them. */
export const SQL_STATES = {
  checkViolation: '23514',
  readOnlySqlTransaction: '25006',
  serializationFailure: '40001',
  deadlockDetected: '40P01',
  insufficientPrivilege: '42501',
  undefinedTable: '42P01',
  lockNotAvailable: '55P03',
  queryCanceled: '57014',
} as const;

/** Returns the SQLSTATE of an error of Postgres. The errors of a connection have codes of Node in its place, or none: ''. */
export function sqlStateOf(error: unknown): string {
  return errorCode(error);
}
