import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { writeAddresses } from './demo-credentials.js';

const ADDRESSES = { kafka_brokers: '127.0.0.1:9093', database_url: 'postgres://127.0.0.1:5433/gapless' };

let dataDir: string;
const file = () => join(dataDir, 'credentials.json');

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gapless-credentials-'));
});

afterEach(() => {
  rmSync(dataDir, { recursive: true });
});

it('writes the addresses of servers, and keeps the keys', async () => {
  const earlier = { base_url: 'http://localhost:3000', api_key: 'key', kafka_brokers: '127.0.0.1:9092' };
  writeFileSync(file(), JSON.stringify(earlier));
  await writeAddresses(dataDir, ADDRESSES);
  expect(JSON.parse(readFileSync(file(), 'utf8'))).toEqual({ ...earlier, ...ADDRESSES });
});

it.each(['', '{"org_id": "0f8f', 'null', '"text"'])(
  'keeps a file that it cannot read, and names it: %j',
  async (text) => {
    writeFileSync(file(), text);
    await expect(writeAddresses(dataDir, ADDRESSES)).rejects.toThrow(
      `${file()} cannot be read: it is not a JSON object`,
    );
    expect(readFileSync(file(), 'utf8')).toBe(text);
  },
);

it('closes the draft of a process that was killed while it wrote', async () => {
  writeFileSync(`${file()}.new`, '{', { mode: 0o644 });
  await writeAddresses(dataDir, ADDRESSES);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
});

it('makes a file that only its owner can read', async () => {
  await writeAddresses(dataDir, ADDRESSES);
  expect(JSON.parse(readFileSync(file(), 'utf8'))).toEqual(ADDRESSES);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(readdirSync(dataDir)).toEqual(['credentials.json']);
});
