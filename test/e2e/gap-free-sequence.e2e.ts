import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import type { GaplessApp } from '#libs/platform';
import { ApiClient, type Envelope, type Submission } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anEventId, anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { readLog, type LogRecord } from '../support/log-reader.js';
import { drawsFrom, oneTo, shuffled } from '../support/sequence.js';

const EVENTS_PER_ORG = 400;
const PUBLISHERS = 20;

/** How a batch is sent; only what names its events can be sent again without naming new ones. */
type Sending = 'once' | 'again after it' | 'twice at the same time';

interface Batch {
  readonly events: readonly Submission[];
  readonly sending: Sending;
}

/** The events of all orgs mixed, in batches of 1 to 50, of which some bring their ids and are sent twice. */
function batchesOf(orgs: readonly OrgId[]): readonly Batch[] {
  const draw = drawsFrom(2_026);
  const events = shuffled(
    orgs.flatMap((org_id) => oneTo(EVENTS_PER_ORG - 1).map((n) => ({ org_id, event: 'ticket.updated', data: { n } }))),
    draw,
  );
  const batches: Batch[] = [];
  for (let at = 0; at < events.length;) {
    const taken = events.slice(at, (at += 1 + draw(50)));
    const sending = (['once', 'once', 'again after it', 'twice at the same time'] as const)[draw(4)]!;
    const named = taken.map((event) => ({ id: anEventId(), ...event }));
    batches.push({ events: sending === 'once' ? taken : named, sending });
  }
  return batches;
}

describe('the sequence of an org under concurrent publishers', () => {
  const orgs = oneTo(5).map(anOrgId);
  let gapless: GaplessUnderTest;
  let app: GaplessApp;
  /** The ids that the api answered, by org; once for each event. */
  const acknowledged = new Map<string, Set<string>>(orgs.map((orgId) => [orgId, new Set()]));
  const feeds = new Map<string, readonly Envelope[]>();
  let log: ReadonlyMap<string, readonly LogRecord[]>;

  async function publish(api: ApiClient, batch: Batch): Promise<void> {
    const answers =
      batch.sending === 'twice at the same time'
        ? await Promise.all([api.emit(batch.events), api.emit(batch.events)])
        : [await api.emit(batch.events)];
    if (batch.sending === 'again after it') answers.push(await api.emit(batch.events));
    for (const ids of answers) {
      expect(ids).toHaveLength(batch.events.length);
      for (const [index, id] of ids.entries()) acknowledged.get(batch.events[index]!.org_id!)!.add(id);
    }
  }

  beforeAll(async () => {
    gapless = await aGapless();
    app = await gapless.startAll();
    const store = app.app.get(Store);
    const api = new ApiClient(app.url, await anApiKey(store, null));
    const batches = [...batchesOf(orgs)];
    await Promise.all(
      oneTo(PUBLISHERS).map(async () => {
        for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) await publish(api, batch);
      }),
    );
    // Behind everything else, so that nothing can follow once it is there.
    const closing = orgs.map((org_id) => ({ org_id, event: 'ticket.reopened', data: { n: EVENTS_PER_ORG } }));
    await publish(api, { events: closing, sending: 'once' });
    for (const orgId of orgs) {
      const reader = new ApiClient(app.url, await anApiKey(store, orgId));
      await eventually(async () => {
        feeds.set(orgId, await reader.feed(137));
        expect(feeds.get(orgId)!.at(-1)?.event).toBe('ticket.reopened');
      });
    }
    log = await readLog(gapless.environment['KAFKA_BROKERS']!, gapless.environment['TOPIC_PREFIX']!);
  });

  afterAll(async () => {
    await gapless.stop();
  });

  it('is 1, 2, 3 … without gap or repeat in the feed (contract 3.2)', () => {
    for (const orgId of orgs) expect(feeds.get(orgId)!.map(({ seq }) => seq)).toEqual(oneTo(EVENTS_PER_ORG));
  });

  it('is 1, 2, 3 … without gap or repeat in the log', () => {
    for (const orgId of orgs) expect(log.get(orgId)!.map(({ seq }) => seq)).toEqual(oneTo(EVENTS_PER_ORG));
  });

  it('holds each acknowledged event once, however often it was sent', () => {
    for (const orgId of orgs) {
      const ids = feeds.get(orgId)!.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(new Set(ids)).toEqual(acknowledged.get(orgId));
    }
  });

  it('is the same in the log and in the feed, event by event', () => {
    for (const orgId of orgs) {
      expect(log.get(orgId)!.map(({ envelope }) => JSON.parse(envelope) as unknown)).toEqual(feeds.get(orgId));
      expect(log.get(orgId)!.map(({ id }) => id)).toEqual(feeds.get(orgId)!.map(({ id }) => id));
    }
  });

  it('counts each payload of the org once', () => {
    for (const orgId of orgs) {
      const payloads = feeds.get(orgId)!.map(({ data }) => (data as { n: number }).n);
      expect(payloads.toSorted((a, b) => a - b)).toEqual(oneTo(EVENTS_PER_ORG));
    }
  });
});
