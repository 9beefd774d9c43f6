import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#libs/embedded-stack';
import { aStore } from '../../../../test/support/store.js';

/** A certificate for 127.0.0.1 that is its own authority. */
const TLS = resolve(import.meta.dirname, '../../../../test/support/tls');

let dataDir: string;
let postgres: EmbeddedPostgres;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gapless-tls-'));
  postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined, port: 0, durable: false });
  const files = join(dataDir, 'postgres', 'cluster');
  const owner = statSync(files);
  for (const file of ['server.pem', 'server.key']) {
    copyFileSync(join(TLS, file), join(files, file));
    chownSync(join(files, file), owner.uid, owner.gid);
    chmodSync(join(files, file), 0o600);
  }
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(`alter system set ssl_cert_file = 'server.pem'`);
  await client.query(`alter system set ssl_key_file = 'server.key'`);
  await client.query(`alter system set ssl = on`);
  await client.query('select pg_reload_conf()');
  await client.end();
});

afterAll(async () => {
  await postgres.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function isEncrypted(parameters: string): Promise<boolean> {
  const store = aStore(`${postgres.url}?${parameters}`);
  const waits: string[] = [];
  const gaveUp = new AbortController();
  try {
    await store.open((reason) => {
      waits.push(reason);
      gaveUp.abort(new Error(reason));
    }, gaveUp.signal);
    const [row] = await store.query<{ ssl: boolean }>('select ssl from pg_stat_ssl where pid = pg_backend_pid()');
    return row?.ssl === true;
  } finally {
    await store.close();
  }
}

describe('a database url', () => {
  it('asks for TLS by sslmode=verify-full', async () => {
    expect(await isEncrypted('sslmode=disable')).toBe(false);
    expect(await isEncrypted(`sslmode=verify-full&sslrootcert=${encodeURIComponent(join(TLS, 'server.pem'))}`)).toBe(
      true,
    );
  });

  it('refuses a server whose certificate nobody vouches for', async () => {
    await expect(isEncrypted('sslmode=verify-full')).rejects.toThrow(/certificate/);
  });

  it('refuses a server of another name', async () => {
    const url = new URL(postgres.url);
    url.hostname = 'localhost';
    const store = aStore(`${url.href}?sslmode=verify-full&sslrootcert=${join(TLS, 'server.pem')}`);
    await expect(store.open(() => undefined)).rejects.toThrow(/altnames/);
  });
});
