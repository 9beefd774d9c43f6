import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { endianness } from 'node:os';
import { join } from 'node:path';
import { Client, escapeIdentifier } from 'pg';
import { errorCode } from '#libs/domain';
import type { WhoAnswers } from '../servers/who-answers.js';

/** SQLSTATEs of a server that runs but cannot do it yet: it starts or stops, is full, or its template is in use. */
const NOT_YET = /^(08|57P|53|55006)/;

/** The content of the lock file in the server's data directory. */
interface PostgresLock {
  readonly pid: number;
  readonly port: number;
  /** `ready` once the server accepts clients. */
  readonly status: string;
}

function readLock(cluster: string): PostgresLock | undefined {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
    return { pid: Number(lines[0]), port: Number(lines[3]), status: (lines[7] ?? '').trim() };
  } catch {
    return undefined;
  }
}

/** Returns the system identifier that initdb gave the directory, from the start of its control file. */
function systemIdentifierIn(cluster: string): string {
  const bytes = Buffer.alloc(8);
  const fd = openSync(join(cluster, 'global/pg_control'), 'r');
  try {
    readSync(fd, bytes, 0, bytes.length, 0);
  } finally {
    closeSync(fd);
  }
  return String(endianness() === 'LE' ? bytes.readBigUInt64LE() : bytes.readBigUInt64BE());
}

/**
 * Says who answers on the loopback port, and creates the database if our server has none. The server is ours if two
 * things hold. The lock file in its directory names our process and the port. The server that answers reports this
 * directory's system identifier.
 * @throws the error when our own server refuses for good, such as our password
 */
export async function whoAnswersPostgres(o: {
  readonly pid: number | undefined;
  readonly port: number;
  /** The data directory. */
  readonly cluster: string;
  readonly adminUrl: string;
  readonly database: string;
}): Promise<WhoAnswers> {
  const lock = readLock(o.cluster);
  if (lock === undefined || lock.pid !== o.pid || lock.port !== o.port || lock.status !== 'ready') return 'nobody';
  const client = new Client({ connectionString: o.adminUrl, connectionTimeoutMillis: 2000 });
  // Without a listener, a connection that breaks while the server stops would end our process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const identity = await client.query<{ system: string }>(
      'select system_identifier::text as system from pg_control_system()',
    );
    if (identity.rows[0]?.system !== systemIdentifierIn(o.cluster)) return 'stranger';
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [o.database]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${escapeIdentifier(o.database)}`);
    return 'ours';
  } catch (error) {
    const code = errorCode(error);
    // A code of five characters is from Postgres. Other errors mean that the connection failed.
    if (/^[0-9A-Z]{5}$/.test(code) && !NOT_YET.test(code)) throw error;
    return 'nobody';
  } finally {
    await client.end().catch(() => undefined);
  }
}
