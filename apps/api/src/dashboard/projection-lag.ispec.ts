import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Clock } from '#libs/domain';
import { Store } from '#libs/postgres';
import { Appender, KafkaConnection, type TopicNames } from '#libs/kafka-log';
import { LOGGER, TOPICS, type GaplessApp } from '#libs/platform';
import type { Logger } from '#libs/runtime';
import { freePort } from '../../../../test/support/free-port.js';
import { aGapless, type GaplessUnderTest } from '../../../../test/support/gapless.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { ApiModule } from '../api.module.js';
import { apiHttp } from '../http/api-http.js';
import { ProjectionLag } from './projection-lag.js';

let gapless: GaplessUnderTest;
let app: GaplessApp;
let topics: TopicNames;
let store: Store;
let logger: Logger;

beforeAll(async () => {
  // Nobody projects here: what is in the log stays behind.
  gapless = await aGapless();
  app = await gapless.start([ApiModule], { http: apiHttp });
  topics = app.app.get<TopicNames>(TOPICS);
  store = app.app.get(Store);
  logger = app.app.get<Logger>(LOGGER);
});

afterAll(async () => {
  await gapless.stop();
});

/** The lag as it is seen at the time of the clock. */
function lagAt(clock: Clock, connection = app.app.get(KafkaConnection)): Promise<number | null> {
  return new ProjectionLag(connection, store, topics, clock, logger).seconds();
}

/** Brokers that are busy are as good as away, for a moment. */
const showingAt = (clock: Clock, lagSeconds: number) =>
  eventually(async () => {
    expect(await lagAt(clock)).toBe(lagSeconds);
  });
const showing = (inSeconds: number, lagSeconds: number) =>
  showingAt({ now: () => Date.now() + inSeconds * 1_000 }, lagSeconds);

const projected = (projection: string, topic: string) =>
  store.query(
    `insert into projection_offsets (projection, topic, partition, next_offset)
     select $1, $2, partition, 1 from generate_series(0, 2) partition`,
    [projection, topic],
  );

describe('the lag of what is shown', () => {
  it('is how long ago something happened that is not shown yet, roughly', async () => {
    await showing(100, 0);
    const append = (topic: string) =>
      app.app.get(Appender).append([{ topic, key: 'org', value: Buffer.from('{}'), headers: {} }]);
    const appendMs = Date.now();
    await append(topics.log);
    await showingAt({ now: () => appendMs + 500 }, 1);
    await showing(100, 300);
    await showing(4_000, 21_600);
    await projected('feed', topics.log);
    await showing(100, 0);
    await append(topics.deliveries);
    await showing(100, 300);
    await projected('deliveries', topics.deliveries);
    await showing(100, 0);
  });

  it('is not known, and not waited for, while the brokers are away', async () => {
    const brokers = [`127.0.0.1:${await freePort()}`];
    const away = new KafkaConnection({ brokers, clientId: 'test', logger });
    // A busy machine may stand still meanwhile.
    await eventually(async () => {
      const began = performance.now();
      expect(await lagAt({ now: Date.now }, away)).toBeNull();
      expect(performance.now() - began).toBeLessThan(5_000);
    });
  });
});
