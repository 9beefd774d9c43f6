import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { inboxValue, type InboxEvent, type OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import { Appenders, inboxRecord, KafkaConnection, partitionOf } from '#libs/kafka-log';
import type { GaplessApp } from '#libs/platform';
import { ApiModule } from '../../apps/api/src/api.module.js';
import { ProjectorModule } from '../../apps/projector/src/projector.module.js';
import { SequencerModule } from '../../apps/sequencer/src/sequencer.module.js';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { PARTITIONS } from '../support/environment.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anEventId, anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { readLog, readTopic } from '../support/log-reader.js';
import { oneTo } from '../support/sequence.js';
import { API_HTTP } from '../support/stages.js';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

let gapless: GaplessUnderTest;
let app: GaplessApp;
let orgId: OrgId;
let api: ApiClient;

beforeEach(async () => {
  gapless = await aGapless();
  app = await gapless.start([ApiModule, SequencerModule, ProjectorModule], { http: API_HTTP });
  orgId = anOrgId();
  api = new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId));
});

afterEach(async () => {
  await gapless.stop();
});

function topic(role: string): string {
  return `${gapless.environment['TOPIC_PREFIX']!}.${role}.v1`;
}

async function emit(): Promise<void> {
  await api.emit([{ event: 'ticket.created', data: {} }]);
}

async function expectFeed(count: number): Promise<void> {
  await eventually(async () => {
    expect((await api.feed()).map(({ seq }) => seq)).toEqual(oneTo(count));
  });
  const log = await readLog(gapless.environment['KAFKA_BROKERS']!, gapless.environment['TOPIC_PREFIX']!);
  expect(log.get(orgId)?.map(({ id }) => id)).toEqual((await api.feed()).map(({ id }) => id));
}

function anEvent(): InboxEvent {
  const occurredAt = new Date().toISOString();
  return { id: anEventId(), event: 'ticket.created', occurredAt, orgId, widgetId: null, dataJson: '{}' };
}

/** As a producer with another partitioner does. */
async function produceTo(partition: number): Promise<void> {
  const producer = app.app.get(KafkaConnection).kafka.producer();
  await producer.connect();
  await producer.send({
    topic: topic('inbox'),
    messages: [{ key: orgId, value: inboxValue(anEvent()), partition }],
  });
  await producer.disconnect();
}

describe('a record in a partition that its key does not belong to', () => {
  it('goes to the dead letters with its own code, and its org keeps one stream of seqs', async () => {
    await emit();
    await expectFeed(1);
    await produceTo((partitionOf(orgId, PARTITIONS) + 1) % PARTITIONS);
    const [dead] = await eventually(async () => {
      const found = await readTopic(gapless.environment['KAFKA_BROKERS']!, topic('dead-letter'));
      expect(found).toHaveLength(1);
      return found;
    });
    expect(dead).toMatchObject({ key: orgId, headers: { 'x-error-code': 'wrong_partition' } });
    await produceTo(partitionOf(orgId, PARTITIONS));
    await emit();
    await expectFeed(3);
  });
});

describe('topics that are altered to more partitions while the service runs', () => {
  it('move no org: what the api accepts is sequenced and shown', async () => {
    // An org whose events would move, if the partitions of the topic counted.
    while (partitionOf(orgId, 50) < PARTITIONS) orgId = anOrgId();
    api = new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId));
    await emit();
    await expectFeed(1);
    await app.app.get(KafkaConnection).withAdmin(async (admin) => {
      await admin.createPartitions({ topicPartitions: [{ topic: topic('inbox'), count: 50 }] });
    });
    // It learns of the new partitions when it connects.
    const appender = app.app.get(Appenders).open();
    await appender.connect();
    await appender.append([inboxRecord(topic('inbox'), anEvent(), { traceparent: TRACEPARENT })]);
    await expectFeed(2);
  });
});
