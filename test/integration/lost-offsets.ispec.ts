import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Store } from '#libs/postgres';
import { hasReached, KafkaConnection, LogPositions, type TopicNames } from '#libs/kafka-log';
import { TOPICS, type GaplessApp } from '#libs/platform';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { deleteGroups, groupsOf, resetToLatest } from '../support/consumer-groups.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { readTopic } from '../support/log-reader.js';
import { aReceiver, type Receiver } from '../support/receiver.js';
import { oneTo } from '../support/sequence.js';
import { API_HTTP, STAGE_MODULES } from '../support/stages.js';
import { aStore } from '../support/store.js';

let gapless: GaplessUnderTest;
let app: GaplessApp;
let receiver: Receiver;
let api: ApiClient;
/** Made once for each test. */
let key: string | undefined;

beforeEach(async () => {
  receiver = await aReceiver();
  gapless = await aGapless({ RETRY_SCHEDULE: '200ms' });
  key = undefined;
  await start();
});

afterEach(async () => {
  await gapless.stop();
  await receiver.close();
});

async function start(): Promise<void> {
  app = await gapless.startAll();
  key ??= await anApiKey(app.app.get(Store), anOrgId());
  api = new ApiClient(app.url, key);
}

/**
 * The seqs that were pushed to a path after the first `since` pushes, in ascending order, each once: what is in flight when a
 * consumer joins its group again can be pushed twice.
 */
function pushedTo(path: string, since = 0): readonly number[] {
  const seqs = receiver.received
    .slice(since)
    .filter((push) => push.path === path)
    .map(({ headers }) => Number(headers['x-service-sequence']));
  return [...new Set(seqs)].sort((one, other) => one - other);
}

async function emit(count: number): Promise<void> {
  await api.emit(oneTo(count).map((n) => ({ event: 'ticket.created', data: { n } })));
}

async function anEndpoint(path: string) {
  return api.createWebhook({ url: new URL(path, receiver.url).href, events: ['ticket.created'] });
}

async function setActive(id: string, isActive: boolean): Promise<void> {
  const answer = await api.request('PATCH', `/external/webhooks/${id}`, JSON.stringify({ is_active: isActive }));
  expect(answer.status).toBe(200);
}

async function untilFed(count: number): Promise<void> {
  await eventually(async () => {
    expect((await api.feed()).map(({ seq }) => seq)).toEqual(oneTo(count));
  });
}

/** An attempt that is known to have been made is not made again. */
async function untilDelivered(id: string, count: number): Promise<void> {
  await eventually(async () => {
    const answer = await api.request('GET', `/external/webhooks/${id}/deliveries?status=delivered&limit=250`);
    expect((JSON.parse(answer.text) as { data: readonly unknown[] }).data).toHaveLength(count);
  });
}

/** Events 1 to 20, the first ten of which are pushed to `/old` and `/rested`, and the others to `/old` alone. */
async function aHistory(): Promise<void> {
  const old = await anEndpoint('/old');
  const rested = await anEndpoint('/rested');
  // One that is retried.
  let tries = 0;
  receiver.answer = (_request, response, push) => {
    const isRetried = push.headers['x-service-sequence'] === '3' && push.path === '/old';
    response.writeHead(isRetried && tries++ === 0 ? 500 : 200).end();
  };
  await emit(10);
  await eventually(() => {
    expect(pushedTo('/old')).toEqual(oneTo(10));
    expect(pushedTo('/rested')).toEqual(oneTo(10));
    expect(tries).toBeGreaterThanOrEqual(2);
  });
  await untilDelivered(rested.id, 10);
  await setActive(rested.id, false);
  await emit(10);
  await eventually(() => {
    expect(pushedTo('/old')).toEqual(oneTo(20));
  });
  await untilFed(20);
  await untilDelivered(old.id, 20);
  await setActive(rested.id, true);
  await anEndpoint('/new');
}

/** @returns how many pushes there have been */
async function stopAndLose(): Promise<number> {
  await app.stop();
  const brokers = gapless.environment['KAFKA_BROKERS']!;
  const groups = await groupsOf(brokers, `${gapless.environment['TOPIC_PREFIX']!}-`);
  expect(groups.length).toBeGreaterThanOrEqual(7);
  await deleteGroups(brokers, groups);
  return receiver.received.length;
}

/** Until every attempt that is in Kafka was looked at. */
async function untilDispatched(): Promise<void> {
  const positions = new LogPositions(app.app.get(KafkaConnection));
  const topics = app.app.get<TopicNames>(TOPICS);
  const named = (group: string) => `${gapless.environment['TOPIC_PREFIX']!}-${group}`;
  const lanes = [
    [named('router'), topics.log],
    [named('dispatcher-retry'), topics.retry[0]!],
    [named('dispatcher'), topics.attempts],
    [named('dispatcher-slow'), topics.attemptsSlow],
  ] as const;
  for (const [group, topic] of lanes) {
    await eventually(async () => {
      expect(hasReached(await positions.committed(group, topic), await positions.ends(topic))).toBe(true);
    });
  }
}

/** The retries that were handed over when they were due, repeats included. */
async function handedOver(): Promise<readonly string[]> {
  const { attempts: topic } = app.app.get<TopicNames>(TOPICS);
  const records = await readTopic(gapless.environment['KAFKA_BROKERS']!, topic);
  return records.map(({ headers }) => headers['attempt'] ?? '');
}

/** @param since how many pushes there were before */
async function expectNewAlone(since: number): Promise<void> {
  await emit(1);
  await eventually(() => {
    expect(pushedTo('/new')).toContain(21);
    expect(pushedTo('/rested')).toContain(21);
    expect(pushedTo('/old')).toContain(21);
  });
  await untilDispatched();
  for (const path of ['/new', '/rested', '/old']) expect([path, pushedTo(path, since)]).toEqual([path, [21]]);
  await untilFed(21);
}

describe('stages whose consumer groups have all lost their offsets', () => {
  it('push no history and lose nothing', async () => {
    await aHistory();
    const before = await handedOver();
    const since = await stopAndLose();
    await start();
    await expectNewAlone(since);
    // The one retry was handed over once more, and found to be made.
    const after = await handedOver();
    expect(after.length).toBeGreaterThan(before.length);
    expect(new Set(after).size).toBe(1);
  });

  it('push no history when it is not known either how far events were routed', async () => {
    await aHistory();
    const since = await stopAndLose();
    const store = aStore(gapless.environment['DATABASE_URL']!);
    await store.open(() => undefined);
    await store.query('delete from router_places');
    await store.close();
    await start();
    await expectNewAlone(since);
  });
});

describe('a dispatcher that was away for a while', () => {
  it('pushes what came meanwhile, although a tool has moved its offsets past it', async () => {
    const { id } = await anEndpoint('/old');
    await emit(5);
    await untilDelivered(id, 5);
    await app.stop();
    const since = receiver.received.length;
    const { dispatcher, ...others } = STAGE_MODULES;
    app = await gapless.start(Object.values(others), { http: API_HTTP });
    api = new ApiClient(app.url, key!);
    await emit(5);
    await untilFed(10);
    const { log } = app.app.get<TopicNames>(TOPICS);
    const group = `${gapless.environment['TOPIC_PREFIX']!}-router`;
    await resetToLatest(gapless.environment['KAFKA_BROKERS']!, group, log);
    await gapless.start([dispatcher]);
    // Nothing new has to come for it.
    await eventually(() => {
      expect(pushedTo('/old', since)).toEqual([6, 7, 8, 9, 10]);
    });
    await emit(1);
    await eventually(() => {
      expect(pushedTo('/old', since)).toEqual([6, 7, 8, 9, 10, 11]);
    });
  });

  it('pushes nothing to an endpoint from before its creation, and nothing from when it was inactive', async () => {
    await app.stop();
    const { dispatcher, ...others } = STAGE_MODULES;
    app = await gapless.start(Object.values(others), { http: API_HTTP });
    api = new ApiClient(app.url, key!);
    const rested = await anEndpoint('/rested');
    await emit(5);
    await untilFed(5);
    await setActive(rested.id, false);
    await emit(5);
    await untilFed(10);
    await setActive(rested.id, true);
    await anEndpoint('/new');
    await emit(5);
    await gapless.start([dispatcher]);
    await eventually(() => {
      expect(pushedTo('/rested')).toEqual([1, 2, 3, 4, 5, 11, 12, 13, 14, 15]);
      expect(pushedTo('/new')).toEqual([11, 12, 13, 14, 15]);
    });
  });
});
