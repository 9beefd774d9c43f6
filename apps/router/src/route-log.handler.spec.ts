import { beforeEach, describe, expect, it } from '@jest/globals';
import { ENDPOINT_SHARE, parseEventId, parseOrgId, type Seq } from '#libs/domain';
import type { SecretCipher, Store } from '#libs/feed-store';
import { logRecord, topicNames, type RecordBatch, type StoredRecord } from '#libs/kafka-log';
import { Metrics } from '#libs/metrics';
import { NO_TRACING } from '#libs/tracing';
import { anEndpointId } from '../../../test/support/due-attempts.js';
import { FakeAppender } from '../../../test/support/fake-appender.js';
import { RouteLogHandler } from './route-log.handler.js';

const ORG = parseOrgId('0f8fad5b-d9cb-469f-a165-70867728950e')!;
const topics = topicNames('gapless', [10_000]);
const [ALL_TICKETS, LEADS_ONLY] = [anEndpointId(1), anEndpointId(2)];

let appender: FakeAppender;
let handler: RouteLogHandler;

beforeEach(() => {
  appender = new FakeAppender();
  const subscribers = [
    { id: ALL_TICKETS, org_id: ORG, events: ['ticket.created'], widget_ids: null },
    { id: LEADS_ONLY, org_id: ORG, events: ['lead.created'], widget_ids: null },
  ];
  const store = { prepared: () => Promise.resolve(subscribers) } as unknown as Store;
  const cipher = {} as unknown as SecretCipher;
  handler = new RouteLogHandler(
    store,
    cipher,
    appender.asAppender,
    new Metrics(),
    topics,
    { now: () => 1_750_000_000_000 },
    NO_TRACING,
  );
});

/** A batch of the log: as many tickets, and a lead behind them. */
function aBatch(tickets: number): RecordBatch {
  const records = Array.from({ length: tickets + 1 }, (_, index) =>
    stored(index + 1, index < tickets ? 'ticket.created' : 'lead.created'),
  );
  return { topic: topics.log, partition: 0, records };
}

function stored(seq: number, event: string): StoredRecord {
  const { key, value, headers } = logRecord(
    {
      orgId: ORG,
      seq: seq as Seq,
      id: parseEventId(`evt_${String(seq).padStart(26, '0')}`)!,
      event,
      widgetId: null,
      targetEndpoint: null,
      traceparent: null,
      envelope: Buffer.from(`{"seq":${seq}}`),
    },
    { occurredAt: '2026-03-01T12:00:00.000Z', inboxOffset: seq, inboxTimeMs: 1_772_366_400_000 },
  );
  return {
    topic: topics.log,
    partition: 0,
    offset: seq - 1,
    key: Buffer.from(key ?? ''),
    value,
    headers: headers as Readonly<Record<string, string>>,
    timestampMs: 1_750_000_000_000,
  };
}

function countOf(topic: string, key?: string): number {
  return appender.records.filter((record) => record.topic === topic && (key === undefined || record.key === key))
    .length;
}

describe('a batch of the log', () => {
  it('becomes a scheduled fact and a due attempt for each endpoint that receives the event', async () => {
    await handler.handle(aBatch(3));
    expect(countOf(topics.deliveries, ALL_TICKETS)).toBe(3);
    expect(countOf(topics.attempts, ALL_TICKETS)).toBe(3);
    expect(countOf(topics.deliveries, LEADS_ONLY)).toBe(1);
    expect(countOf(topics.attempts, LEADS_ONLY)).toBe(1);
    expect(countOf(topics.attemptsSlow)).toBe(0);
  });

  it('gives an endpoint its share of the main lane, what is beyond it to the slow one, and takes nothing from others', async () => {
    await handler.handle(aBatch(ENDPOINT_SHARE + 44));
    expect(countOf(topics.deliveries, ALL_TICKETS)).toBe(ENDPOINT_SHARE + 44);
    expect(countOf(topics.attempts, ALL_TICKETS)).toBe(ENDPOINT_SHARE);
    expect(countOf(topics.attemptsSlow, ALL_TICKETS)).toBe(44);
    expect(countOf(topics.attempts, LEADS_ONLY)).toBe(1);
  });

  it('is not routed again when it comes again to the same router', async () => {
    await handler.handle(aBatch(2));
    await handler.handle(aBatch(2));
    expect(appender.records).toHaveLength(6);
  });

  it('is routed again when Kafka did not take it', async () => {
    appender.failures = 1;
    await expect(handler.handle(aBatch(2))).rejects.toThrow('the brokers are away');
    await handler.handle(aBatch(2));
    expect(countOf(topics.attempts, ALL_TICKETS)).toBe(2);
  });
});
