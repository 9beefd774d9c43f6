import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import { KafkaConnection } from '#libs/kafka-log';
import type { GaplessApp } from '#libs/platform';
import { createLogger, type StageName } from '#libs/runtime';
import { ApiModule } from '../../apps/api/src/api.module.js';
import { repairCommand } from '../../apps/cli/src/repair/repair.command.js';
import { verifyCommand } from '../../apps/cli/src/verify/verify.command.js';
import { ApiClient, type Envelope } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { runCommand } from '../support/command.js';
import { anEventId, anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { joinAgain } from '../support/group-members.js';
import { readLog } from '../support/log-reader.js';
import { aPrivateKafka, type PrivateKafka } from '../support/private-kafka.js';
import { scrape, valueOf } from '../support/scrape.js';
import { oneTo } from '../support/sequence.js';
import { aReceiver } from '../support/receiver.js';
import { ALL_STAGES, API_HTTP, STAGE_MODULES } from '../support/stages.js';

/** A whole command takes much of the machine. */
const BETWEEN_COMMANDS = { intervalMs: 1_000 };

let kafka: PrivateKafka;
let gapless: GaplessUnderTest;
let app: GaplessApp;
let api: ApiClient;
let orgId: OrgId;
let copies: string;

beforeAll(async () => {
  kafka = await aPrivateKafka();
});

afterAll(async () => {
  await kafka.remove();
});

beforeEach(async () => {
  await kafka.start();
  copies = mkdtempSync(join(tmpdir(), 'gapless-copies-'));
  gapless = await aGapless({ KAFKA_BROKERS: kafka.brokers, PARTITIONS: '1' });
  orgId = anOrgId();
  await startStages();
});

afterEach(async () => {
  await gapless.stop();
  rmSync(copies, { recursive: true, force: true });
});

async function startStages(stages = ALL_STAGES): Promise<void> {
  app = await gapless.start(stages, { http: API_HTTP });
  api = new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId));
}

function without(stage: StageName): readonly Type[] {
  return ALL_STAGES.filter((module) => module !== STAGE_MODULES[stage]);
}

function topic(role: string): string {
  return `${gapless.environment['TOPIC_PREFIX']!}.${role}.v1`;
}

/** As a service does: the same events again until they are acknowledged, which takes a moment after a broker's restart. */
async function emit(count: number): Promise<readonly string[]> {
  const events = oneTo(count).map((n) => ({ id: anEventId(), event: 'ticket.created', data: { n } }));
  return eventually(() => api.emit(events));
}

/** The whole feed, once it has so many events. */
async function feedOf(count: number): Promise<readonly Envelope[]> {
  return eventually(async () => {
    const feed = await api.feed();
    expect(feed.map(({ seq }) => seq)).toEqual(oneTo(count));
    return feed;
  });
}

async function expectStopped(topicName: string): Promise<void> {
  await eventually(async () => {
    const answer = await fetch(`${app.url}/health/ready`);
    expect(answer.status).toBe(503);
    expect(await answer.text()).toMatch(new RegExp(`${topicName}/0 is stopped \\(went_back\\).*gapless -- repair`));
  });
  await eventually(async () => {
    expect(valueOf(await scrape(app.url), 'gapless_partitions_stopped', { group: 'sequencer' })).toBe(1);
  });
}

async function idsInLog(): Promise<readonly string[]> {
  const log = await readLog(kafka.brokers, gapless.environment['TOPIC_PREFIX']!);
  return (log.get(orgId) ?? []).map(({ id }) => id);
}

/** Copies what the stopped broker has, of all topics or of one. */
function copyRecords(from: string, to: string, of?: string): void {
  if (of === undefined) {
    rmSync(to, { recursive: true, force: true });
    cpSync(from, to, { recursive: true });
    return;
  }
  for (const name of partitionDirs(from, of)) {
    rmSync(join(to, name), { recursive: true, force: true });
    cpSync(join(from, name), join(to, name), { recursive: true });
  }
}

function partitionDirs(root: string, of: string): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith(`/${of}-0`));
}

/**
 * Repairs, starts again, and shows that every event is in feed and log once, and that later ones follow.
 * @returns the ids of all events then
 */
async function expectRepaired(known: readonly string[]): Promise<readonly string[]> {
  await app.stop();
  const dry = await runCommand(repairCommand, gapless.environment);
  expect([dry.failure, dry.lines.at(-1)]).toEqual([null, expect.stringMatching(/dry run.*--apply/)]);
  // The old files may hold members of groups that left since: the broker forgets them after their session.
  await eventually(async () => {
    const applied = await runCommand(repairCommand, gapless.environment, ['--apply']);
    expect([applied.failure, applied.lines.at(-1)]).toEqual([null, 'Done. Start all processes, then run verify.']);
  }, BETWEEN_COMMANDS);
  await startStages();
  const feed = await feedOf(known.length);
  expect(feed.map(({ id }) => id)).toEqual(known);
  const later = await emit(3);
  await feedOf(known.length + 3);
  expect(await idsInLog()).toEqual([...known, ...later]);
  const { lines, failure } = await runCommand(verifyCommand, gapless.environment);
  expect([lines.at(-1), failure]).toEqual(['No differences.', null]);
  await eventually(async () => {
    expect((await fetch(`${app.url}/health/ready`)).status).toBe(200);
  });
  const again = await runCommand(repairCommand, gapless.environment);
  expect(again.lines).toEqual(['No topic went back. There is nothing to repair.']);
  return [...known, ...later];
}

describe('an inbox that was lost and created again', () => {
  it('stops its partition, and skips nothing of what was acknowledged since', async () => {
    await emit(10);
    const before = await feedOf(10);
    await app.stop();
    const connection = new KafkaConnection({
      brokers: [kafka.brokers],
      clientId: 'test',
      logger: createLogger('silent', 'test'),
    });
    await connection.withAdmin((admin) => admin.deleteTopics({ topics: [topic('inbox')] }));
    await startStages();
    const since = await emit(25);
    await expectStopped(topic('inbox'));
    expect((await api.feed()).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(await idsInLog()).toHaveLength(10);
    await expectRepaired([...before.map(({ id }) => id), ...since]);
  });
});

describe('an inbox that is lost and created again under a running process', () => {
  it('stops its partition, though the offsets of its group are lost with it', async () => {
    await emit(10);
    const before = await feedOf(10);
    const connection = new KafkaConnection({
      brokers: [kafka.brokers],
      clientId: 'test',
      logger: createLogger('silent', 'test'),
    });
    await connection.withAdmin((admin) => admin.deleteTopics({ topics: [topic('inbox')] }));
    // A process that starts makes the topics that are missing.
    const another = await gapless.start([ApiModule], { http: API_HTTP });
    await another.stop();
    // Kafka removes the offsets of a topic with it: a member that joins again is sent to the beginning.
    await joinAgain(kafka.brokers, `${gapless.environment['TOPIC_PREFIX']!}-sequencer`);
    const since = await emit(25);
    await expectStopped(topic('inbox'));
    expect((await api.feed()).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(await idsInLog()).toHaveLength(10);
    await expectRepaired([...before.map(({ id }) => id), ...since]);
  });
});

describe('an inbox partition whose files are older than what was read', () => {
  it('stops, though it has grown again by as much as it lost', async () => {
    await emit(10);
    await feedOf(10);
    await app.stop();
    await kafka.stop();
    copyRecords(kafka.dataDir, copies);
    await kafka.start();
    await startStages();
    await emit(5);
    const before = await feedOf(15);
    await app.stop();
    await kafka.stop();
    copyRecords(copies, kafka.dataDir, topic('inbox'));
    await kafka.start();
    await startStages();
    const since = await emit(8);
    await expectStopped(topic('inbox'));
    expect(await idsInLog()).toHaveLength(15);
    await expectRepaired([...before.map(({ id }) => id), ...since]);
  });
});

describe('a broker whose files are older than what Postgres has read', () => {
  it('stops the partition under a running process and of one that starts afterwards, and gives no seq twice', async () => {
    await emit(20);
    await feedOf(20);
    await kafka.stop();
    copyRecords(kafka.dataDir, copies);
    await kafka.start();
    await emit(10);
    const before = await feedOf(30);
    await kafka.kill();
    copyRecords(copies, kafka.dataDir);
    await kafka.start();
    await expectStopped(topic('log'));
    const since = await emit(15);
    expect((await api.feed()).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(await idsInLog()).toHaveLength(20);
    const repaired = await expectRepaired([...before.map(({ id }) => id), ...since]);

    // The same files once more, before a process starts.
    await app.stop();
    await kafka.kill();
    copyRecords(copies, kafka.dataDir);
    await kafka.start();
    await startStages();
    await expectStopped(topic('log'));
    const later = await emit(15);
    expect(await idsInLog()).toHaveLength(20);
    await expectRepaired([...repaired, ...later]);
  });

  it('routes again what was routed after the copy, since Kafka has lost the facts of it', async () => {
    const receiver = await aReceiver();
    const { id } = await api.createWebhook({ url: receiver.url, events: ['ticket.created'] });
    const delivered = async () => {
      const { text } = await api.request('GET', `/external/webhooks/${id}/deliveries?status=delivered`);
      return (JSON.parse(text) as { readonly data: readonly unknown[] }).data.length;
    };
    await emit(3);
    await eventually(async () => {
      expect(await delivered()).toBe(3);
    });
    await app.stop();
    await startStages(without('dispatcher'));
    const unrouted = await emit(2);
    await feedOf(5);
    await app.stop();
    await kafka.stop();
    copyRecords(kafka.dataDir, copies);
    await kafka.start();
    await startStages(without('projector'));
    await emit(1);
    await eventually(() => {
      expect(receiver.received).toHaveLength(6);
    });
    await app.stop();
    await kafka.kill();
    copyRecords(copies, kafka.dataDir);
    await kafka.start();
    await eventually(async () => {
      const { lines } = await runCommand(repairCommand, gapless.environment);
      expect(lines).toContain('log/0: the dispatchers route again from 3 on; they were at 6');
    });
    await eventually(async () => {
      const { lines } = await runCommand(repairCommand, gapless.environment, ['--apply']);
      expect(lines.at(-1)).toBe('Done. Start all processes, then run verify.');
    }, BETWEEN_COMMANDS);
    await startStages();
    await eventually(async () => {
      expect(await delivered()).toBe(5);
    });
    const again = receiver.received.slice(6).map(({ body }) => (JSON.parse(body.toString()) as Envelope).id);
    expect(again.sort()).toEqual([...unrouted].sort());
    await receiver.close();
  });
});
