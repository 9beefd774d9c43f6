import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { embeddedEnvironment } from './embedded-environment.js';

let dataDir: string;
const file = () => join(dataDir, 'secret-encryption-keys');

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gapless-environment-'));
});

afterEach(() => {
  rmSync(dataDir, { recursive: true });
});

it('makes a key once, and keeps it in the data directory', async () => {
  const first = await embeddedEnvironment({}, dataDir);
  expect(first['SECRET_ENCRYPTION_KEYS']).toBe(readFileSync(file(), 'utf8').trim());
  expect(await embeddedEnvironment({}, dataDir)).toEqual(first);
  expect(readdirSync(dataDir)).toEqual(['secret-encryption-keys']);
});

it('has few partitions unless the user names brokers', async () => {
  expect(await embeddedEnvironment({ KAFKA_BROKERS: ' ' }, dataDir)).toHaveProperty('PARTITIONS', '4');
  expect(await embeddedEnvironment({ KAFKA_BROKERS: 'kafka:9092' }, dataDir)).not.toHaveProperty('PARTITIONS');
});

it('names the file if it is empty, and makes no other key for secrets that exist', async () => {
  writeFileSync(file(), '\n');
  await expect(embeddedEnvironment({}, dataDir)).rejects.toThrow(`${file()} is empty.`);
  expect(readFileSync(file(), 'utf8')).toBe('\n');
});
