import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { claimServer, DataDirInUseError, endLeftover, type ServerClaim } from './server-claim.js';

let dataDir: string;
let pidFile: string;
let claims: ServerClaim[];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gapless-claim-'));
  pidFile = join(dataDir, 'postgres.pid');
  claims = [];
});

afterEach(() => {
  for (const claim of claims) claim.release();
  rmSync(dataDir, { recursive: true });
});

async function claim(): Promise<ServerClaim> {
  const made = await claimServer({ name: 'Postgres', pidFile, dataDir, stopSteps: [], log: () => undefined });
  claims.push(made);
  return made;
}

describe('a claim of another host or container', () => {
  /** Its pid is that of a process here that is not its owner. */
  const record = JSON.stringify({ owner: { pid: process.pid, started: 'there' }, place: 'there' });

  beforeEach(() => {
    writeFileSync(pidFile, record);
  });

  it('counts while it is touched', async () => {
    const touching = setInterval(() => {
      utimesSync(pidFile, new Date(), new Date());
    }, 1_000);
    try {
      const refused = await claim().catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(DataDirInUseError);
      expect(String(refused)).toContain(
        `${dataDir} is in use by another Gapless, on another host or in another container`,
      );
      expect(await endLeftover(pidFile, [])).toBe(false);
      expect(readFileSync(pidFile, 'utf8')).toBe(record);
      expect(readdirSync(dataDir)).toEqual(['postgres.pid']);
    } finally {
      clearInterval(touching);
    }
  });

  it('is a leftover when it is not', async () => {
    await claim();
    expect(JSON.parse(readFileSync(pidFile, 'utf8'))).toMatchObject({ owner: { pid: process.pid } });
    expect(readFileSync(pidFile, 'utf8')).not.toContain('there');
  });
});

describe('a claim', () => {
  it.each(['', 'null', '{}', '{"owner":'])('takes the place of a damaged one: %j', async (text) => {
    writeFileSync(pidFile, text);
    await claim();
    expect(JSON.parse(readFileSync(pidFile, 'utf8'))).toMatchObject({ owner: { pid: process.pid } });
  });

  it('is touched until it is released', async () => {
    const held = await claim();
    held.record({ pid: process.pid, started: 'a server' });
    const { mtimeMs } = statSync(pidFile);
    await eventually(() => {
      expect(statSync(pidFile).mtimeMs).toBeGreaterThan(mtimeMs);
    });
    held.release();
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it('says where its processes are', async () => {
    const held = await claim();
    held.record({ pid: process.pid, started: 'a server' });
    const { place } = JSON.parse(readFileSync(pidFile, 'utf8')) as { readonly place: string };
    expect(place).toMatch(process.platform === 'linux' ? /^[\da-f-]{36} pid:\[\d+\]$/ : /^\w+ \S+$/);
  });
});
