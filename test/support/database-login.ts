import { randomBytes } from 'node:crypto';
import { Client, escapeIdentifier, escapeLiteral } from 'pg';

/** Somebody who logs in to a database with what one role may do. */
export interface DatabaseLogin {
  readonly url: string;
  drop(): Promise<void>;
}

/**
 * @param ownerUrl of the database, as somebody who may make roles
 * @param connections how many it may open; default: any number
 */
export async function aDatabaseLogin(ownerUrl: string, role: string, connections = -1): Promise<DatabaseLogin> {
  const url = new URL(ownerUrl);
  url.username = `test_${randomBytes(4).toString('hex')}`;
  url.password = randomBytes(12).toString('hex');
  const name = escapeIdentifier(url.username);
  const server = new URL(ownerUrl);
  server.pathname = '/postgres';
  await asOwner(server.href, [
    `create role ${name} login connection limit ${connections} password ${escapeLiteral(url.password)}
     in role ${escapeIdentifier(role)}`,
  ]);
  return { url: url.href, drop: () => asOwner(server.href, [`drop role ${name}`]) };
}

async function asOwner(url: string, statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
