import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import { TOPICS, type GaplessApp } from '#libs/platform';
import { createLogger } from '#libs/runtime';
import { KafkaConnection, type TopicNames } from '#libs/kafka-log';
import { repairCommand } from '../../apps/cli/src/repair/repair.command.js';
import { verifyCommand } from '../../apps/cli/src/verify/verify.command.js';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { runCommand } from '../support/command.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anOrgId } from '../support/ids.js';
import { joinAgain } from '../support/group-members.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { readLog } from '../support/log-reader.js';
import { scrape, valueOf } from '../support/scrape.js';
import { oneTo } from '../support/sequence.js';

let gapless: GaplessUnderTest;
let app: GaplessApp;
let api: ApiClient;
let topics: TopicNames;
let orgId: OrgId;

beforeEach(async () => {
  gapless = await aGapless({ PARTITIONS: '1' });
  orgId = anOrgId();
  await start();
});

afterEach(async () => {
  await gapless.stop();
});

async function start(): Promise<void> {
  app = await gapless.startAll();
  topics = app.app.get<TopicNames>(TOPICS);
  api = new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId));
}

async function emit(count: number): Promise<readonly string[]> {
  return api.emit(oneTo(count).map((n) => ({ event: 'ticket.created', data: { n } })));
}

async function feedOf(count: number): Promise<readonly string[]> {
  return eventually(async () => {
    const feed = await api.feed();
    expect(feed.map(({ seq }) => seq)).toEqual(oneTo(count));
    return feed.map(({ id }) => id);
  });
}

/** Removes all records of the log, as retention would, and the checkpoints with their topic, which the next start makes again. */
async function loseLogAndCheckpoints(): Promise<void> {
  const connection = new KafkaConnection({
    brokers: [gapless.environment['KAFKA_BROKERS']!],
    clientId: 'test',
    logger: createLogger('silent', 'test'),
  });
  await connection.withAdmin(async (admin) => {
    const offsets = await admin.fetchTopicOffsets(topics.log);
    const partitions = offsets.map(({ partition, high }) => ({ partition, offset: high }));
    await admin.deleteTopicRecords({ topic: topics.log, partitions });
    await admin.deleteTopics({ topics: [topics.sequences] });
  });
}

async function expectReady(status: number, text: RegExp): Promise<void> {
  await eventually(async () => {
    const answer = await fetch(`${app.url}/health/ready`);
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringMatching(text)]);
  });
}

it('gives the seq after the last one in Postgres, when checkpoint and log are gone', async () => {
  await emit(6);
  const before = await feedOf(6);
  await app.stop();
  await loseLogAndCheckpoints();
  await start();
  await expectReady(503, /is stopped \(sequences_behind_log\).*gapless -- repair/);
  // Before any record comes.
  await eventually(async () => {
    expect(valueOf(await scrape(app.url), 'gapless_partitions_stopped', { group: 'sequencer' })).toBe(1);
  });
  await joinAgain(gapless.environment['KAFKA_BROKERS']!, `${gapless.environment['TOPIC_PREFIX']!}-sequencer`);
  await pause(2_000);
  await expectReady(503, /is stopped \(sequences_behind_log\)/);
  const [waiting] = await emit(1);
  const running = await runCommand(repairCommand, gapless.environment, ['--apply']);
  expect(running.failure?.message).toMatch(/processes are running/);
  await app.stop();

  const dry = await runCommand(repairCommand, gapless.environment);
  expect([dry.failure, dry.lines]).toEqual([null, expect.arrayContaining([`    org ${orgId}: seq 6`])]);
  expect(dry.lines.at(-1)).toMatch(/dry run.*--apply/);
  await eventually(async () => {
    const applied = await runCommand(repairCommand, gapless.environment, ['--apply']);
    expect([applied.failure, applied.lines.at(-1)]).toEqual([null, 'Done. Start all processes, then run verify.']);
  });

  await start();
  const [later] = await emit(1);
  expect(await feedOf(8)).toEqual([...before, waiting, later]);
  const log = await readLog(gapless.environment['KAFKA_BROKERS']!, gapless.environment['TOPIC_PREFIX']!);
  expect((log.get(orgId) ?? []).map(({ seq }) => seq)).toEqual([7, 8]);
  await expectReady(200, /./);
  const { lines, failure } = await runCommand(verifyCommand, gapless.environment);
  expect([lines.at(-1), failure]).toEqual(['No differences.', null]);
  const again = await runCommand(repairCommand, gapless.environment);
  expect(again.lines).toEqual(['No topic went back. There is nothing to repair.']);
});
