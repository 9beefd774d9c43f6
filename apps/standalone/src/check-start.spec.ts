import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError, type Environment } from '#libs/runtime';
import { checkStart } from './check-start.js';

let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'gapless-check-start-'));
});

afterAll(() => {
  rmSync(root, { recursive: true });
});

const problemsOf = async (environment: Environment, dataDir = join(root, 'data')): Promise<readonly string[]> => {
  try {
    await checkStart(environment, dataDir);
    return [];
  } catch (error) {
    return error instanceof ConfigError ? error.problems : [(error as Error).message];
  }
};

describe('a start', () => {
  it('needs no settings, and makes its data directory', async () => {
    const dataDir = join(root, 'some', 'where');
    expect(await problemsOf({}, dataDir)).toEqual([]);
    expect(existsSync(dataDir)).toBe(true);
    expect(await problemsOf({ KAFKA_BROKERS: '', DATABASE_URL: ' ' }, dataDir)).toEqual([]);
  });

  it('names every setting that it cannot use, and the data directory, before anything runs', async () => {
    const file = join(root, 'file');
    writeFileSync(file, '');
    const problems = await problemsOf({ PORT: '99999', RETENTION: 'a while', SECRET_ENCRYPTION_KEYS: 'x' }, file);
    expect(problems.map((problem) => problem.split(/[=:]/, 1)[0])).toEqual(
      expect.arrayContaining(['PORT', 'RETENTION', 'SECRET_ENCRYPTION_KEYS', 'DATA_DIR']),
    );
  });

  it.each(['/proc', '/proc/gapless', '/dev/null/gapless'])('ends when its data cannot be in %s', async (dataDir) => {
    expect(await problemsOf({}, dataDir)).toEqual([
      expect.stringMatching(/^DATA_DIR: .* cannot hold data .*; name a folder that you may write to$/),
    ]);
  });

  it('ends when Kafka would take the data directory for two', async () => {
    expect(await problemsOf({}, join(root, 'a,b'))).toEqual([expect.stringContaining('must not have a comma')]);
  });

  it('ends when the port is taken that it was given', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const port = String((other.address() as AddressInfo).port);
    expect(await problemsOf({ PORT: port })).toEqual([
      `PORT: cannot listen at 127.0.0.1, port ${port}: another process uses it; set another PORT`,
    ]);
    other.close();
    await once(other, 'close');
    expect(await problemsOf({ PORT: port })).toEqual([]);
  });

  it('ends when the host is not of this machine', async () => {
    expect(await problemsOf({ HOST: '203.0.113.7' })).toEqual([
      expect.stringMatching(/^HOST: cannot listen at 203\.0\.113\.7: .*; set HOST to an address of this machine$/),
    ]);
  });

  it('needs no data directory with servers of its own', async () => {
    const servers = { KAFKA_BROKERS: 'kafka:9092', DATABASE_URL: 'postgres://db/gapless' };
    expect(await problemsOf({ ...servers, SECRET_ENCRYPTION_KEYS: '' }, '/proc/gapless')).toEqual([
      expect.stringContaining('SECRET_ENCRYPTION_KEYS'),
    ]);
  });
});
