import { afterEach, beforeEach, expect, it } from '@jest/globals';
import kafkajs from 'kafkajs';
import { KafkaConnection } from '#libs/kafka-log';
import type { GaplessApp } from '#libs/platform';
import { createLogger } from '#libs/runtime';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { STAGE_MODULES } from '../support/stages.js';

interface Ready {
  readonly status: string;
  readonly parts: Readonly<Record<string, { readonly status: string; readonly reason?: string } | undefined>>;
}

let gapless: GaplessUnderTest;
let app: GaplessApp;
let connection: KafkaConnection;

beforeEach(async () => {
  gapless = await aGapless();
  connection = new KafkaConnection({
    brokers: [gapless.environment['KAFKA_BROKERS']!],
    clientId: 'test',
    logger: createLogger('silent', 'test'),
  });
  app = await gapless.start([STAGE_MODULES.projector]);
});

afterEach(async () => {
  await gapless.stop();
});

async function alterLog(change: Readonly<Record<string, string>>): Promise<void> {
  const name = `${gapless.environment['TOPIC_PREFIX']!}.log.v1`;
  const type = kafkajs.ConfigResourceTypes.TOPIC;
  await connection.withAdmin(async (admin) => {
    const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [{ type, name }] });
    const own = resources[0]!.configEntries.filter(
      ({ configSource }) => configSource === kafkajs.ConfigSource.TOPIC_CONFIG,
    );
    const config = { ...Object.fromEntries(own.map((entry) => [entry.configName, entry.configValue])), ...change };
    const configEntries = Object.entries(config).map(([key, value]) => ({ name: key, value }));
    await admin.alterConfigs({ validateOnly: false, resources: [{ type, name, configEntries }] });
  });
}

async function ready(): Promise<Ready> {
  const response = await fetch(`${app.url}/health/ready`);
  expect(response.status).toBe(200);
  return (await response.json()) as Ready;
}

async function misfits(): Promise<string | undefined> {
  const metrics = await (await fetch(`${app.url}/metrics`)).text();
  return /^gapless_topics_misfit (\d+)$/m.exec(metrics)?.[1];
}

it('says which topics somebody altered while it runs, and how to correct them, until they are corrected', async () => {
  const { parts } = await ready();
  expect([parts['topics'], await misfits()]).toEqual([undefined, '0']);
  await alterLog({ 'cleanup.policy': 'compact', 'max.message.bytes': '1000' });
  await eventually(async () => {
    const { topics } = (await ready()).parts;
    expect(topics).toMatchObject({ status: 'degraded' });
    expect(topics?.reason).toMatch(/log\.v1 has cleanup\.policy=compact, delete is needed; run: kafka-configs\.sh /);
    expect(topics?.reason).toMatch(/log\.v1 takes max\.message\.bytes 1000/);
    expect(await misfits()).toBe('2');
  });
  await alterLog({ 'cleanup.policy': 'delete', 'max.message.bytes': String(8 * 1024 * 1024) });
  await eventually(async () => {
    expect([(await ready()).parts['topics'], await misfits()]).toEqual([undefined, '0']);
  });
});
