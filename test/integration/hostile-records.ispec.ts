import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import kafkajs from 'kafkajs';
import { deliveryIdOf, inboxValue, type EndpointId, type OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import { KafkaConnection, partitionOf } from '#libs/kafka-log';
import type { GaplessApp } from '#libs/platform';
import { Metrics } from '#libs/telemetry';
import { rebuildCommand } from '../../apps/cli/src/rebuild/rebuild.command.js';
import { repairCommand } from '../../apps/cli/src/repair/repair.command.js';
import { verifyCommand } from '../../apps/cli/src/verify/verify.command.js';
import { ApiClient, type Webhook } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { runCommand } from '../support/command.js';
import { PARTITIONS } from '../support/environment.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { hostileRecords, type HostileRecord } from '../support/hostile-records.js';
import { anEventId, anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { readTopic, type TopicRecord } from '../support/log-reader.js';
import { PACKINGS } from '../support/packings.js';
import { RawProducer } from '../support/raw-producer.js';
import { recordBatch, type Packing } from '../support/record-batch.js';
import { aReceiver, type Receiver } from '../support/receiver.js';

/** For a machine that is busy otherwise; `npm run test:hostile` measures that it takes less than 5 s. */
const GOES_ON_WITHIN_MS = 30_000;
/** Each look for a dead letter reads the whole topic. */
const BETWEEN_READS = { intervalMs: 1_000 };

let gapless: GaplessUnderTest;
let app: GaplessApp;
let orgId: OrgId;
let api: ApiClient;
let webhook: Webhook;
let producer: RawProducer;
let receiver: Receiver;

beforeAll(async () => {
  gapless = await aGapless();
  app = await gapless.startAll({ SWEEP_INTERVAL: '200ms' });
  orgId = anOrgId();
  api = new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId));
  receiver = await aReceiver();
  webhook = await api.createWebhook({ url: receiver.url, events: ['ticket.created', 'conversation.handed_off'] });
  producer = await RawProducer.to(gapless.environment['KAFKA_BROKERS']!);
});

afterAll(async () => {
  producer.close();
  await receiver.close();
  await gapless.stop();
});

function topic(role: string): string {
  return `${gapless.environment['TOPIC_PREFIX']!}.${role}.v1`;
}

function pushed(): readonly (string | undefined)[] {
  return receiver.received.map(({ headers }) => headers['x-service-event-id'] as string | undefined);
}

/** An event after it in the same partition is shown and pushed. */
async function expectGoesOn(): Promise<void> {
  const [id] = await api.emit([{ event: 'ticket.created', data: {} }]);
  await eventually(
    () => {
      expect(pushed()).toContain(id);
    },
    { timeoutMs: GOES_ON_WITHIN_MS },
  );
}

async function codesByOrigin(): Promise<ReadonlyMap<string, TopicRecord['headers']>> {
  const found = await readTopic(gapless.environment['KAFKA_BROKERS']!, topic('dead-letter'));
  return new Map(found.map(({ headers }) => [headers['x-origin'] ?? '', headers]));
}

function origin(answer: Awaited<ReturnType<typeof send>>, role = 'inbox', key: string = orgId): string {
  const offset = 'offset' in answer ? answer.offset : NaN;
  return `${topic(role)}/${partitionOf(key, PARTITIONS)}/${offset}`;
}

/** @param key decides the partition, as that of the records Gapless writes */
async function send(
  { records, packing }: Pick<HostileRecord, 'records' | 'packing'>,
  role = 'inbox',
  key: string = orgId,
) {
  const batch = recordBatch(records(), Date.now(), packing);
  return producer.send(topic(role), partitionOf(key, PARTITIONS), batch);
}

async function keepCompressed(role: string): Promise<void> {
  await app.app.get(KafkaConnection).withAdmin((admin) =>
    admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: kafkajs.ConfigResourceTypes.TOPIC,
          name: topic(role),
          configEntries: [{ name: 'compression.type', value: 'producer' }],
        },
      ],
    }),
  );
}

describe('a record of the inbox', () => {
  /** The codes of the dead letters that there have to be, by where the records were. */
  const expected = new Map<string, string>();

  // The names are of one org, the records of another: jest needs the names before anything runs.
  it.each(hostileRecords(anOrgId(), 0).map(({ name }) => name))('stops nothing: %s', async (name) => {
    const hostile = hostileRecords(orgId, Date.now()).find((record) => record.name === name)!;
    const answer = await send(hostile);
    await expectGoesOn();
    if (hostile.fate === 'refused') expect(answer).toEqual({ errorCode: expect.any(Number) });
    else if (hostile.fate === 'event') {
      await eventually(() => {
        expect(pushed()).toEqual(expect.arrayContaining([...hostile.ids]));
      });
    } else expected.set(origin(answer), hostile.fate.code);
  });

  it('is a dead letter with the reason if it is no event', async () => {
    const found = await codesByOrigin();
    expect(expected.size).toBeGreaterThan(30);
    for (const [place, code] of expected) expect([place, found.get(place)?.['x-error-code']]).toEqual([place, code]);
  });
});

describe('a foreign record of the log', () => {
  const foreign = { key: null, value: Buffer.from('x') };
  const withSeq = { ...foreign, headers: [['seq', Buffer.from('1')]] as const };

  it.each([
    ['plain', { records: () => [foreign] }],
    ['in lz4', { records: () => [foreign], packing: PACKINGS.lz4 }],
    ['with a seq of its own', { records: () => [withSeq] }],
  ])('stops no reader, and is a dead letter: %s', async (_, batch) => {
    const answer = await send(batch, 'log');
    await expectGoesOn();
    await eventually(async () => {
      const dead = (await codesByOrigin()).get(origin(answer, 'log'));
      expect(dead).toMatchObject({ 'x-error-code': 'not_a_log_record' });
    }, BETWEEN_READS);
  });

  it('stops no command', async () => {
    await send({ records: () => [{ key: Buffer.from('note'), value: Buffer.from('garbage') }] }, 'sequences');
    const repaired = await runCommand(repairCommand, gapless.environment);
    const verified = await runCommand(verifyCommand, gapless.environment);
    expect(repaired.lines).toEqual(['No topic went back. There is nothing to repair.']);
    expect(verified.lines.join('\n')).toMatch(
      /, 3 records that are not the sequencer's are skipped$[^]*^No differences\.$/m,
    );
  });
});

describe('batches that a topic kept compressed', () => {
  const anEvent = () => {
    const text = JSON.stringify({ text: 'x'.repeat(300) });
    const event = { id: anEventId(), event: 'ticket.created' as const, orgId, widgetId: null, dataJson: text };
    return { id: event.id, value: inboxValue({ ...event, occurredAt: new Date().toISOString() }) };
  };

  beforeAll(async () => {
    // As an inbox has it that was made before, until a process starts.
    await keepCompressed('inbox');
  });

  it('are read when they are gzip', async () => {
    const { id, value } = anEvent();
    await send({ records: () => [{ key: Buffer.from(orgId), value }], packing: PACKINGS.gzip });
    await expectGoesOn();
    await eventually(() => {
      expect(pushed()).toContain(id);
    });
  });

  it.each(['snappy', 'lz4', 'zstd'] as const)('are dead letters when they are %s', async (name) => {
    const { value } = anEvent();
    const answer = await send({ records: () => [{ key: Buffer.from(orgId), value }], packing: PACKINGS[name] });
    await expectGoesOn();
    const dead = (await codesByOrigin()).get(origin(answer));
    expect(dead).toMatchObject({ 'x-error-code': 'unreadable' });
    expect(dead?.['x-error-detail']).toContain(`it is compressed by ${name}`);
  });

  it('are dead letters when they unpack to more than a batch may have', async () => {
    const value = Buffer.alloc(300 * 1024 * 1024);
    const before = process.memoryUsage().rss;
    const packing: Packing = PACKINGS.gzip;
    const answer = await send({ records: () => [{ key: Buffer.from(orgId), value }], packing });
    await expectGoesOn();
    const dead = (await codesByOrigin()).get(origin(answer));
    expect(dead?.['x-error-detail']).toContain('it has more than 16777216 bytes unpacked');
    // The test itself holds what it packs.
    expect(process.memoryUsage().rss - before).toBeLessThan(900 * 1024 * 1024);
  });
});

describe('an unreadable batch of the delivery facts', () => {
  it('stops neither the projector nor a command, which counts it', async () => {
    await keepCompressed('deliveries');
    const records = () => [1, 2].map((n) => ({ key: null, value: Buffer.from(`${n}`.repeat(300)) }));
    const answer = await send({ records, packing: PACKINGS.lz4 }, 'deliveries');
    await expectGoesOn();
    await eventually(async () => {
      const dead = (await codesByOrigin()).get(origin(answer, 'deliveries'));
      expect(dead).toMatchObject({ 'x-error-code': 'unreadable' });
    }, BETWEEN_READS);
    const verified = await runCommand(verifyCommand, gapless.environment);
    expect(verified.lines.join('\n')).toMatch(
      /facts compared, 1 records that are not facts are skipped$[^]*^No differences\.$/m,
    );
    const repaired = await runCommand(repairCommand, gapless.environment);
    expect(repaired.lines).toEqual(['No topic went back. There is nothing to repair.']);
    const rebuilt = await runCommand(rebuildCommand, gapless.environment, ['--deliveries']);
    expect(rebuilt.failure).toBeNull();
    expect(rebuilt.lines).toContain('1 records that are not delivery facts are skipped');
  });
});

describe('a delivery fact of an endpoint that cannot be stored', () => {
  const anAttempt = () => {
    const endpointId = webhook.id as EndpointId;
    const eventId = anEventId();
    const createdAtMs = Date.now();
    return {
      type: 'attempted',
      delivery: {
        ...{ deliveryId: deliveryIdOf(eventId, endpointId), endpointId, orgId, eventId },
        ...{ event: 'ticket.created', seq: 1, createdAtMs },
      },
      ...{ run: 0, attempt: 1, activation: 1, startedAtMs: createdAtMs, durationMs: 1 },
      ...{ responseStatus: 500, error: 'http_status: 500', responseExcerpt: null, next: 'exhausted' },
    };
  };

  async function deliveredEvents(): Promise<readonly string[]> {
    const { text } = await api.request('GET', `/external/webhooks/${webhook.id}/deliveries?status=delivered`);
    return (JSON.parse(text) as { data: { event_id: string }[] }).data.map((delivery) => delivery.event_id);
  }

  it.each([
    ['a batch that is text', { batch: 'xy' }],
    ['a batch that is no list', { batch: { 0: 'x' } }],
    ['an error with half of a surrogate pair', { error: '\ud800' }],
    ['a retry without a time', { next: 'retry' }],
  ])('does not stop the projector, and is a dead letter: %s', async (_, members) => {
    const value = Buffer.from(JSON.stringify({ ...anAttempt(), ...members }));
    const answer = await send({ records: () => [{ key: Buffer.from(webhook.id), value }] }, 'deliveries', webhook.id);
    const [id] = await api.emit([{ event: 'ticket.created', data: {} }]);
    await eventually(async () => {
      expect(await deliveredEvents()).toContain(id);
    });
    await eventually(async () => {
      const dead = (await codesByOrigin()).get(origin(answer, 'deliveries', webhook.id));
      expect(dead).toMatchObject({ 'x-error-code': 'malformed_request' });
    }, BETWEEN_READS);
  });
});

describe('transactions', () => {
  async function inTransaction(value: Buffer, end: 'commit' | 'abort' | 'none'): Promise<void> {
    const { kafka } = app.app.get(KafkaConnection);
    const own = kafka.producer({ transactionalId: anEventId(), transactionTimeout: 3_000, maxInFlightRequests: 1 });
    await own.connect();
    try {
      const transaction = await own.transaction();
      await transaction.send({ topic: topic('inbox'), messages: [{ key: orgId, value }] });
      if (end !== 'none') await transaction[end]();
    } finally {
      await own.disconnect();
    }
  }

  const anEvent = () => {
    const event = { id: anEventId(), event: 'ticket.created' as const, orgId, widgetId: null, dataJson: '{}' };
    return { id: event.id, value: inboxValue({ ...event, occurredAt: new Date().toISOString() }) };
  };

  it('that are committed bring events, those that are aborted none', async () => {
    const [aborted, committed] = [anEvent(), anEvent()];
    // On a busy machine, a transaction may last longer than the broker lets it.
    await eventually(() => inTransaction(aborted.value, 'abort'));
    await eventually(() => inTransaction(committed.value, 'commit'));
    await expectGoesOn();
    expect(pushed()).toContain(committed.id);
    expect(pushed()).not.toContain(aborted.id);
  });

  it('that are left open hold nothing up for longer than the broker lets them', async () => {
    const { id, value } = anEvent();
    const shows = eventually(async () => {
      const { text } = await app.app.get(Metrics).scrape();
      expect(text).toMatch(/^gapless_open_transaction_seconds\{group="sequencer"\} (?!0$)/m);
    });
    await Promise.all([inTransaction(value, 'none'), shows]);
    await expectGoesOn();
    expect(pushed()).not.toContain(id);
  });
});

describe('after all of it', () => {
  it('the service is ready, and each event is there once', async () => {
    const answer = await fetch(`${app.url}/health/ready`);
    expect(answer.status).toBe(200);
    const seqs = (await api.feed()).map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  });
});
