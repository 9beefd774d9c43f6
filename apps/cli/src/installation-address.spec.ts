import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findDatabaseUrl } from './database-url.js';
import { withInstallation } from './installation.js';
import { findKafkaBrokers } from './kafka-brokers.js';
import { encryptionKeys } from './secrets/encryption-keys.js';

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gapless-cli-'));
});

afterEach(() => {
  rmSync(dataDir, { recursive: true });
});

function write(text: string): void {
  writeFileSync(join(dataDir, 'credentials.json'), text);
}

describe('where an installation is', () => {
  it('is what the environment says', async () => {
    write('{"kafka_brokers":"other:9092","database_url":"postgres://other"}');
    const environment = { DATA_DIR: dataDir, KAFKA_BROKERS: 'a:9092, b:9092', DATABASE_URL: 'postgres://here' };
    expect(await findKafkaBrokers(environment)).toEqual(['a:9092', 'b:9092']);
    expect(await findDatabaseUrl(environment)).toBe('postgres://here');
  });

  it('is what npm start wrote, where the environment says nothing', async () => {
    write('{"kafka_brokers":"127.0.0.1:9092","database_url":"postgres://written"}');
    const environment = { DATA_DIR: dataDir, KAFKA_BROKERS: ' ' };
    expect(await findKafkaBrokers(environment)).toEqual(['127.0.0.1:9092']);
    expect(await findDatabaseUrl(environment)).toBe('postgres://written');
  });

  it.each(['nonsense', 'http://here', 'postgres://a:1:2/here', 'postgres://user:100%@here/gapless'])(
    'has to be an address: %s is no database',
    async (url) => {
      await expect(findDatabaseUrl({ DATABASE_URL: url })).rejects.toThrow(
        'DATABASE_URL=…: expected postgres://user:password@host:port/database',
      );
    },
  );

  it('has to be set if nothing names it, and the error says so', async () => {
    const environment = { DATA_DIR: dataDir };
    await expect(findKafkaBrokers(environment)).rejects.toThrow(/^no Kafka: KAFKA_BROKERS is not set, and .*npm start/);
    for (const text of ['{}', 'null', 'nonsense', '{"kafka_brokers":1}']) {
      write(text);
      await expect(findKafkaBrokers(environment)).rejects.toThrow('names no kafka_brokers');
    }
  });

  it('is in files that can be read, and the error says what is wrong otherwise', async () => {
    const environment = { DATA_DIR: dataDir, DATABASE_URL: 'postgres://here' };
    const commands = [
      () => findDatabaseUrl({ DATA_DIR: dataDir }),
      () => findKafkaBrokers(environment),
      () => withInstallation(environment, () => Promise.resolve()),
      () => encryptionKeys(environment),
    ];
    for (const command of commands) await expect(command()).rejects.toThrow('does not exist (npm start writes it)');
    for (const name of ['credentials.json', 'secret-encryption-keys']) mkdirSync(join(dataDir, name));
    for (const command of commands) await expect(command()).rejects.toThrow(/^cannot read .*: EISDIR$/);
  });
});
