import { SQL_STATES, sqlStateOf } from './connection/sql-states.js';

/** Whether a statement failed because its database takes no writes. */
export function isReadOnly(error: unknown): boolean {
  return sqlStateOf(error) === SQL_STATES.readOnlySqlTransaction;
}
