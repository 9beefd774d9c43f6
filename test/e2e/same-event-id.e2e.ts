import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { EventId, OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import { Appender, inboxRecord } from '#libs/kafka-log';
import type { GaplessApp } from '#libs/platform';
import { ProjectorModule } from '../../apps/projector/src/projector.module.js';
import { SequencerModule } from '../../apps/sequencer/src/sequencer.module.js';
import { ApiModule } from '../../apps/api/src/api.module.js';
import { ApiClient, type Submission } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anEventId, anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { readLog } from '../support/log-reader.js';
import { API_HTTP } from '../support/stages.js';

let gapless: GaplessUnderTest;
let app: GaplessApp;
let sequencer: GaplessApp;
let orgId: OrgId;
let api: ApiClient;

beforeAll(async () => {
  gapless = await aGapless();
  app = await gapless.start([ApiModule, ProjectorModule], { http: API_HTTP });
  sequencer = await gapless.start([SequencerModule]);
});

afterAll(async () => {
  await gapless.stop();
});

beforeEach(async () => {
  orgId = anOrgId();
  api = new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId));
});

/** Emits one more event, waits until it is in the feed, and returns what the log holds of the org by then. */
async function idsInLog(): Promise<readonly string[]> {
  const [last] = await api.emit([{ event: 'ticket.reopened', data: {} }]);
  await eventually(async () => {
    const feed = await api.feed();
    expect(feed.at(-1)?.id).toBe(last);
  });
  const log = await readLog(gapless.environment['KAFKA_BROKERS']!, gapless.environment['TOPIC_PREFIX']!);
  const events = log.get(orgId)!;
  expect(events.map(({ id }) => id)).toEqual((await api.feed()).map(({ id }) => id));
  expect(events.at(-1)).toMatchObject({ id: last, seq: events.length });
  return events.slice(0, -1).map(({ id }) => id);
}

/** Past the api and what it knows from the feed: as a service that produces straight to the inbox. */
async function produce(...ids: readonly EventId[]): Promise<void> {
  const topic = `${gapless.environment['TOPIC_PREFIX']!}.inbox.v1`;
  const occurredAt = new Date().toISOString();
  await app.app
    .get(Appender)
    .append(
      ids.map((id) =>
        inboxRecord(
          topic,
          { id, event: 'ticket.created', occurredAt, orgId, widgetId: null, dataJson: '{}' },
          { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
        ),
      ),
    );
}

function named(id: string): Submission {
  return { id, event: 'ticket.created', data: { id } };
}

describe('an event id that is sent again is answered the same, and is in the log once', () => {
  it('in the same request', async () => {
    const [a, b] = [anEventId(), anEventId()];
    expect(await api.emit([named(a), named(b), named(a)])).toEqual([a, b, a]);
    expect(await idsInLog()).toEqual([a, b]);
  });

  it('in a second request, before and after the feed shows the first', async () => {
    const ids = [anEventId(), anEventId()];
    expect(await api.emit(ids.map(named))).toEqual(ids);
    expect(await api.emit(ids.map(named))).toEqual(ids);
    expect(await idsInLog()).toEqual(ids);
    expect(await api.emit(ids.map(named))).toEqual(ids);
    expect((await idsInLog()).slice(0, 2)).toEqual(ids);
    expect((await api.feed()).filter(({ event }) => event === 'ticket.created')).toHaveLength(2);
  });

  it('in ten requests at the same time', async () => {
    const id = anEventId();
    const answers = await Promise.all(Array.from({ length: 10 }, () => api.emit([named(id)])));
    expect(answers).toEqual(answers.map(() => [id]));
    expect(await idsInLog()).toEqual([id]);
  });

  it('with another payload: the first one stands', async () => {
    const id = anEventId();
    await api.emit([{ ...named(id), data: { nth: 1 } }]);
    await api.emit([{ ...named(id), data: { nth: 2 } }]);
    expect(await idsInLog()).toEqual([id]);
    expect((await api.feed())[0]).toMatchObject({ id, data: { nth: 1 } });
  });

  it('in requests of 500 events that four writers repeat as soon as they are answered', async () => {
    const requests = Array.from({ length: 4 }, () => Array.from({ length: 500 }, () => anEventId()));
    await Promise.all(
      requests.map(async (ids) => {
        expect(await api.emit(ids.map(named))).toEqual(ids);
        expect(await api.emit(ids.map(named))).toEqual(ids);
      }),
    );
    const inLog = await idsInLog();
    expect(inLog).toHaveLength(2_000);
    expect(new Set(inLog)).toEqual(new Set(requests.flat()));
  });

  it('after 1,200 others, while the feed stands still', async () => {
    const id = anEventId();
    const others = Array.from({ length: 1_200 }, () => anEventId());
    const feed = await app.app.get(Store).feed.of(orgId);
    await feed.transaction(async (runner) => {
      // Readers do not wait for it, the projector does.
      await runner.query('lock table projection_offsets in share mode');
      await api.emit([named(id)]);
      for (let at = 0; at < others.length; at += 400) await api.emit(others.slice(at, at + 400).map(named));
      expect(await api.emit([named(id)])).toEqual([id]);
      expect(await api.feed()).toEqual([]);
    });
    expect(await idsInLog()).toEqual([id, ...others]);
  });

  it('after the sequencer was restarted', async () => {
    const [a, b, c] = [anEventId(), anEventId(), anEventId()];
    await produce(a, b);
    expect(await idsInLog()).toEqual([a, b]);
    await sequencer.stop();
    expect(await api.emit([named(a)])).toEqual([a]);
    await produce(b, c, a, c);
    sequencer = await gapless.start([SequencerModule]);
    await produce(a, c);
    const inLog = await idsInLog();
    expect(inLog.toSorted()).toEqual([...new Set(inLog)].toSorted());
    expect(inLog).toEqual(expect.arrayContaining([a, b, c]));
    expect(inLog.filter((id) => ([a, b, c] as string[]).includes(id))).toEqual([a, b, c]);
  });

  it('but the same id of another org is another event', async () => {
    const id = anEventId();
    await api.emit([named(id)]);
    expect(await idsInLog()).toEqual([id]);
    orgId = anOrgId();
    api = new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId));
    expect(await api.emit([named(id)])).toEqual([id]);
    expect(await idsInLog()).toEqual([id]);
  });
});
