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

const PATIENCE = { timeoutMs: 40_000 };

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

/** The seqs that were pushed to a path, in the order in which they came, repeats included. */
function pushedTo(path: string): readonly number[] {
  return receiver.received
    .filter((push) => push.path === path)
    .map(({ headers }) => Number(headers['x-service-sequence']))
    .sort((one, other) => one - other);
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
  }, PATIENCE);
}

/** An attempt that is known to have been made is not made again. */
async function untilDelivered(id: string, count: number): Promise<void> {
  await eventually(async () => {
    const answer = await api.request('GET', `/external/webhooks/${id}/deliveries?status=delivered&limit=250`);
    expect((JSON.parse(answer.text) as { data: readonly unknown[] }).data).toHaveLength(count);
  }, PATIENCE);
}

/** Events 1 to 20, the first ten of which are pushed to `/old` and `/rested`, and the others to `/old` alone. */
async function aHistory(): Promise<void> {
  const old = await anEndpoint('/old');
  const rested = await anEndpoint('/rested');
  // One that is retried.
  let refusals = 0;
  receiver.answer = (_request, response, push) => {
    const refuses = push.headers['x-service-sequence'] === '3' && push.path === '/old' && refusals++ === 0;
    response.writeHead(refuses ? 500 : 200).end();
  };
  await emit(10);
  await eventually(() => {
    expect(pushedTo('/old')).toEqual([1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(pushedTo('/rested')).toEqual(oneTo(10));
  }, PATIENCE);
  await setActive(rested.id, false);
  await emit(10);
  await eventually(() => {
    expect(pushedTo('/old')).toHaveLength(21);
  }, PATIENCE);
  await untilFed(20);
  await untilDelivered(old.id, 20);
  await setActive(rested.id, true);
  await anEndpoint('/new');
}

async function stopAndLose(): Promise<void> {
  await app.stop();
  const brokers = gapless.environment['KAFKA_BROKERS']!;
  const groups = await groupsOf(brokers, `${gapless.environment['TOPIC_PREFIX']!}-`);
  expect(groups.length).toBeGreaterThanOrEqual(7);
  await deleteGroups(brokers, groups);
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
    }, PATIENCE);
  }
}

async function attempts(): Promise<number> {
  const { attempts: topic } = app.app.get<TopicNames>(TOPICS);
  return (await readTopic(gapless.environment['KAFKA_BROKERS']!, topic)).length;
}

async function expectNewAlone(): Promise<void> {
  await emit(1);
  await eventually(() => {
    expect(pushedTo('/new')).toContain(21);
    expect(pushedTo('/rested')).toContain(21);
    expect(pushedTo('/old')).toContain(21);
  }, PATIENCE);
  await untilDispatched();
  expect(pushedTo('/new')).toEqual([21]);
  expect(pushedTo('/rested')).toEqual([...oneTo(10), 21]);
  expect(pushedTo('/old')).toEqual([1, 2, 3, ...oneTo(21).slice(2)]);
  await untilFed(21);
}

describe('stages whose consumer groups have all lost their offsets', () => {
  it('push no history and lose nothing', async () => {
    await aHistory();
    const before = await attempts();
    await stopAndLose();
    await start();
    await expectNewAlone();
    // The one retry was handed over once more, and found to be made.
    expect((await attempts()) - before).toBe(1);
  });

  it('push no history when it is not known either how far events were routed', async () => {
    await aHistory();
    await stopAndLose();
    const store = aStore(gapless.environment['DATABASE_URL']!);
    await store.open(() => undefined);
    await store.query('delete from router_places');
    await store.close();
    await start();
    await expectNewAlone();
  });
});

describe('a dispatcher that was away for a while', () => {
  it('pushes what came meanwhile, although a tool has moved its offsets past it', async () => {
    await anEndpoint('/old');
    await emit(5);
    await eventually(() => {
      expect(pushedTo('/old')).toEqual(oneTo(5));
    }, PATIENCE);
    await app.stop();
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
      expect(pushedTo('/old')).toEqual(oneTo(10));
    }, PATIENCE);
    await emit(1);
    await eventually(() => {
      expect(pushedTo('/old')).toEqual(oneTo(11));
    }, PATIENCE);
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
    }, PATIENCE);
  });
});
