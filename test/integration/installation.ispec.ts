import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { InstallationRows, Store } from '#libs/postgres';
import { InstallationTopic, KafkaConnection, topicNames } from '#libs/kafka-log';
import { createLogger } from '#libs/runtime';
import { SequencerModule } from '../../apps/sequencer/src/sequencer.module.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { aStore } from '../support/store.js';

const connection = new KafkaConnection({
  brokers: process.env['TEST_KAFKA_BROKERS']!.split(','),
  clientId: 'test',
  logger: createLogger('silent', 'test'),
});

let one: GaplessUnderTest;
let other: GaplessUnderTest;

beforeEach(async () => {
  [one, other] = await Promise.all([aGapless(), aGapless()]);
});

afterEach(async () => {
  await Promise.all([one.stop(), other.stop()]);
});

function topicOf({ environment }: GaplessUnderTest, prefix = environment['TOPIC_PREFIX']!): InstallationTopic {
  return new InstallationTopic(connection, topicNames(prefix, []).installation);
}

async function rowOf({ environment }: GaplessUnderTest) {
  const store = aStore(environment['DATABASE_URL']!);
  await store.open(() => undefined);
  try {
    return await new InstallationRows(store).read();
  } finally {
    await store.close();
  }
}

async function topics(prefix: string): Promise<readonly string[]> {
  const all = await connection.withAdmin((admin) => admin.listTopics());
  return all.filter((topic) => topic.startsWith(`${prefix}.`));
}

describe('an installation', () => {
  it('is created once, however many processes start at the same moment', async () => {
    await Promise.all([1, 2, 3, 4].map(() => one.start([])));
    const row = await rowOf(one);
    expect(row).toMatchObject({ partitions: 3, topicPrefix: one.environment['TOPIC_PREFIX'], announced: true });
    expect((await topicOf(one).read())?.id).toBe(row?.id);
    await one.start([SequencerModule]);
  });

  it('is known to a process from its start on, so that another database in its place gets no writes', async () => {
    const starts = [await one.start([]), await one.start([])];
    const id = (await rowOf(one))?.id;
    expect(starts.map(({ app }) => app.get(Store).installation)).toEqual([id, id]);
  });

  it('goes on where a process ended between the two sides', async () => {
    const app = await one.start([]);
    await app.app.get(Store).query('update installation set announced = false');
    await one.start([]);
    expect(await rowOf(one)).toMatchObject({ announced: true });
  });

  it('does not start on the brokers of another database', async () => {
    await Promise.all([one.start([]), other.start([])]);
    const [first, second] = await Promise.all([rowOf(one), rowOf(other)]);
    const mixed = { DATABASE_URL: other.environment['DATABASE_URL']! };
    await expect(one.start([], { env: mixed })).rejects.toThrow(`TOPIC_PREFIX=${other.environment['TOPIC_PREFIX']!}`);
    const store = aStore(other.environment['DATABASE_URL']!);
    await store.open(() => undefined);
    await store.query('update installation set topic_prefix = $1', [one.environment['TOPIC_PREFIX']]);
    await store.close();
    await expect(one.start([], { env: mixed })).rejects.toThrow(
      new RegExp(`installation ${second!.id},[^]*installation ${first!.id}[^]*gapless repair adopt`),
    );
  });

  it('does not start with a database that is new, nor on brokers that have lost their topics, and creates nothing there', async () => {
    await one.start([]);
    await expect(one.start([], { env: { DATABASE_URL: other.environment['DATABASE_URL'] } })).rejects.toThrow(
      /belongs to no installation/,
    );
    const elsewhere = `t${randomBytes(4).toString('hex')}`;
    const store = aStore(one.environment['DATABASE_URL']!);
    await store.open(() => undefined);
    await store.query('update installation set topic_prefix = $1', [elsewhere]);
    await store.close();
    await expect(one.start([], { env: { TOPIC_PREFIX: elsewhere } })).rejects.toThrow(/lost their topics/);
    expect(await topics(elsewhere)).toEqual([]);
  });

  it('belongs to one of two databases that are started on the same topics at the same moment', async () => {
    const prefix = one.environment['TOPIC_PREFIX']!;
    const outcomes = await Promise.allSettled([one.start([]), other.start([], { env: { TOPIC_PREFIX: prefix } })]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const owner = outcomes[0].status === 'fulfilled' ? one : other;
    expect((await rowOf(owner))?.id).toBe((await topicOf(one).read())?.id);
  });

  it('keeps its number of partitions', async () => {
    await one.start([]);
    await expect(one.start([], { env: { PARTITIONS: '5' } })).rejects.toThrow(/PARTITIONS is 5.*created with 3/);
  });
});
