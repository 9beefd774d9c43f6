import type { Pool, PoolClient } from 'pg';

/**
 * Does the work in a transaction with a client of the pool.
 * @throws any error of the work; nothing is committed then
 */
export async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  // The pool does not listen to a client that is in use. Without a listener, a connection that breaks ends the process.
  // The next query fails anyway.
  client.on('error', ignore);
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    const { command } = await client.query('commit');
    // Postgres answers the commit of a failed transaction with a rollback, and with no error.
    if (command !== 'COMMIT') throw new Error(SWALLOWED);
    return result;
  } catch (error) {
    broken = await rollBack(client);
    throw error;
  } finally {
    // Discard a connection that cannot even roll back.
    client.release(broken);
    client.off('error', ignore);
  }
}

const SWALLOWED =
  'nothing was committed: a statement failed in the transaction, and its error was caught. ' +
  'To skip a statement that fails, set a savepoint before it, and roll back to the savepoint';

const ignore = () => undefined;

/** @returns the error if the connection cannot be used again, otherwise nothing */
async function rollBack(client: PoolClient): Promise<Error | undefined> {
  try {
    await client.query('rollback');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
