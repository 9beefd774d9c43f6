import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Environment } from '#libs/runtime';
import { stageEnvironment } from './stage-environment.js';

const SERVERS = { KAFKA_BROKERS: '127.0.0.1:9092', DATABASE_URL: 'postgres://127.0.0.1/gapless' };

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gapless-stages-'));
});

afterEach(() => {
  rmSync(dataDir, { recursive: true });
});

const environmentOf = (named: Environment) => stageEnvironment(named, { ...SERVERS, ...named }, dataDir);

describe('the stages of npm start', () => {
  it('have few partitions on the embedded broker, and the usual number on one that the user names', async () => {
    expect(await environmentOf({})).toMatchObject({ ...SERVERS, PARTITIONS: '4' });
    const own = { KAFKA_BROKERS: 'kafka.example:9092' };
    expect(await environmentOf(own)).toMatchObject({ ...own, DATABASE_URL: SERVERS.DATABASE_URL });
    expect(await environmentOf(own)).not.toHaveProperty('PARTITIONS');
  });

  it('keep to the settings of the user', async () => {
    const named = { PARTITIONS: '6', ALLOW_HTTP_URLS: 'false', PORT: '4000' };
    expect(await environmentOf(named)).toMatchObject(named);
  });
});
