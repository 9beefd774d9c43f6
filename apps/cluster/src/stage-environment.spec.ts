import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { loadConfig } from '#libs/runtime';
import { stageEnvironment } from './stage-environment.js';

const OWN = { brokers: '127.0.0.1:9092', databaseUrl: 'postgres://gapless:x@127.0.0.1:5432/gapless' };

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gapless-cluster-'));
});

afterEach(() => {
  rmSync(dataDir, { recursive: true });
});

it('has the settings of the shell, but none of the access to other servers', async () => {
  const environment = await stageEnvironment(
    {
      RETENTION: '3d',
      KAFKA_BROKERS: 'kafka.example:9093',
      KAFKA_TLS: 'true',
      KAFKA_CA_FILE: '/ca.pem',
      KAFKA_SASL: 'plain',
      KAFKA_USERNAME: 'ada',
      KAFKA_PASSWORD: 'secret',
      DATABASE_URL: 'postgres://db.example/gapless',
      DATABASE_READ_URLS: 'postgres://replica.example/gapless',
      TENANT_DATABASE_URL: 'postgres://tenant@db.example/gapless',
      PROJECTION_DATABASE_URLS: 'postgres://feed-0.example/gapless,postgres://feed-1.example/gapless',
    },
    dataDir,
    OWN,
  );
  expect(loadConfig(environment)).toMatchObject({
    retentionMs: 3 * 24 * 60 * 60_000,
    partitions: 4,
    kafkaBrokers: [OWN.brokers],
    kafkaTls: false,
    kafkaSasl: null,
    databaseUrl: OWN.databaseUrl,
    databaseReadUrls: [],
    tenantDatabaseUrl: null,
    projectionDatabaseUrls: [],
  });
});
