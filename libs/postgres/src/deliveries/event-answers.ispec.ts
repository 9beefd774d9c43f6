import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  deliveryIdOf,
  inWidgetScope,
  isReceived,
  outOfTime,
  receptionOf,
  systemClock,
  whyNotDelivered,
  type AskedEvent,
  type EndpointId,
  type EndpointVersion,
  type EventFilters,
  type OrgId,
  type Seq,
  type Subscriber,
  type WidgetId,
} from '#libs/domain';
import { Identifiers } from '#libs/runtime';
import { anEventId, anOrgId } from '../../../../test/support/ids.js';
import { Random } from '../../../../test/simulation/engine/random.js';
import { EndpointDirectory } from '../endpoints/endpoint-directory.js';
import { EndpointRecords, type EndpointChanges } from '../endpoints/endpoint-records.js';
import { EndpointVersions } from '../endpoints/endpoint-versions.js';
import { OrgRecords } from '../orgs/org-records.js';
import { DeliveryProjection } from '../projections/delivery-projection.js';
import { FeedProjection } from '../projections/feed-projection.js';
import type { Store } from '../connection/store.js';
import { aCipher, aTestStore } from '../testing/a-test-store.js';
import { DeliveryLog } from './delivery-log.js';
import { EventAnswers } from './event-answers.js';

const TYPES = ['ticket.created', 'ticket.reply', 'lead.created'];
const WIDGETS = [1, 2].map((nth) => `0f8fad5b-d9cb-469f-a165-70867728950${nth}` as WidgetId);
const FILTERS: EventFilters = {
  test: (filter, envelope) => ({ kind: envelope.toString().includes(filter) ? 'matches' : 'leaves_out' }),
};
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

let store: Store;
let drop: () => Promise<void>;
let records: EndpointRecords;
let answers: EventAnswers;
let world: World;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  records = new EndpointRecords(store, aCipher());
  answers = new EventAnswers(new EndpointVersions(store), new DeliveryLog(store), FILTERS);
});

afterAll(async () => {
  await drop();
});

let partitions = 0;
beforeEach(() => {
  world = new World(partitions++);
});

type Subscription = Partial<Pick<EndpointChanges, 'events' | 'widgetIds' | 'filter'>>;

/** A configuration that an endpoint had, with all of its widgets. */
type Configuration = Omit<EndpointVersion, 'isInScope'> & Pick<Subscriber, 'widgetIds'>;

function reasonOf({ widgetIds, ...version }: Configuration, event: AskedEvent) {
  return whyNotDelivered({ ...version, isInScope: inWidgetScope(widgetIds, event.widgetId) }, event, FILTERS);
}

/** Waits for the next millisecond: an event and a change in the same one have no order. */
async function tick(): Promise<Date> {
  const now = Date.now();
  while (Date.now() === now) await setImmediate();
  return new Date();
}

/** An event, and how many versions each endpoint had when it was appended. */
type LoggedEvent = AskedEvent & { readonly met: ReadonlyMap<EndpointId, number> };

/** An org, its log, and a projector of the feed and a router, which read it when a test says so. */
class World {
  readonly orgId: OrgId = anOrgId();
  readonly log: LoggedEvent[] = [];
  readonly history = new Map<EndpointId, (Configuration | 'deleted')[]>();
  readonly #delivered = new Set<string>();
  /** How many versions each endpoint had when the router came to the event. */
  readonly #routedWith = new Map<Seq, ReadonlyMap<EndpointId, number>>();
  #shown = 0;
  #facts = 0;

  constructor(private readonly partition: number) {}

  async create(subscription: Subscription = {}): Promise<EndpointId> {
    const id = new Identifiers(systemClock).endpointId();
    const { events = ['ticket.created'], widgetIds = null, filter = null } = subscription;
    const given = { name: null, description: null, url: 'https://example.com/', secret: 'whsec_MfKQ9r8GKYqrTw' };
    const createdAt = await tick();
    await records.create(
      { id, orgId: this.orgId, ...given, events, widgetIds, filter, createdAt, logEnd: this.log.length },
      200,
    );
    this.history.set(id, [{ events, widgetIds, filter, inactiveSince: null }]);
    return id;
  }

  async change(id: EndpointId, subscription: Subscription): Promise<void> {
    await records.update(this.orgId, id, subscription, await tick(), () => Promise.resolve());
    this.history.get(id)!.push({ ...this.#last(id), ...subscription });
  }

  async switch(id: EndpointId, becomes: boolean): Promise<void> {
    const at = await tick();
    const last = this.#last(id);
    const isActive = { becomes, logEnd: this.log.length };
    await records.update(this.orgId, id, { isActive }, at, () => Promise.resolve());
    this.history.get(id)!.push({ ...last, inactiveSince: becomes ? null : (last.inactiveSince ?? at) });
  }

  async delete(id: EndpointId): Promise<void> {
    await tick();
    await records.delete(this.orgId, id);
    this.history.get(id)!.push('deleted');
  }

  async append(change: Partial<AskedEvent> = {}): Promise<void> {
    const seq = (this.log.length + 1) as Seq;
    const usual = { id: anEventId(), event: 'ticket.created', widgetId: null, envelope: Buffer.from('{}') };
    this.log.push({ ...usual, seq, appendedAt: await tick(), met: this.#versions(), ...change });
  }

  /** Shows the next events in the feed. */
  async show(count = Infinity): Promise<void> {
    const events = this.log.slice(this.#shown, this.#shown + count);
    if (events.length === 0) return;
    const [firstOffset, nextOffset] = [this.#shown, this.#shown + events.length];
    await new FeedProjection(store).apply(
      { projection: 'feed', topic: 'log', partition: this.partition, firstOffset, nextOffset },
      events.map(({ met: _, appendedAt, ...event }) => ({
        ...event,
        offset: event.seq - 1,
        orgId: this.orgId,
        appendedAtMs: appendedAt.getTime(),
      })),
    );
    this.#shown = nextOffset;
  }

  /** Routes the next events as the dispatcher does. */
  async route(count = Infinity): Promise<void> {
    const routed = this.#routedWith.size;
    for (const event of this.log.slice(routed, routed + count)) {
      const place = { seq: event.seq, offset: event.seq - 1, appendedAtMs: event.appendedAt.getTime() };
      const found = await new EndpointDirectory(store, aCipher()).subscribersOf(new Map([[this.orgId, place]]));
      for (const subscriber of found.get(this.orgId) ?? []) {
        const reception = receptionOf(subscriber, { ...event, targetEndpoint: null }, FILTERS);
        if (isReceived(reception) && outOfTime(subscriber, place) === undefined) {
          await this.#schedule(event, subscriber.id);
        }
      }
      this.#routedWith.set(event.seq, this.#versions());
    }
  }

  /** Returns what may be answered for an endpoint: more than one answer only if it changed before the event was routed. */
  expected(event: LoggedEvent, id: EndpointId): readonly object[] {
    const versions = this.history.get(id)!;
    const met = event.met.get(id);
    const isDeleted = versions.at(-1) === 'deleted';
    if (!isDeleted && this.#delivered.has(`${event.id}/${id}`)) return [{ status: 'pending' }];
    if (met === undefined) return [{ answer: 'not_yet_created' }];
    const then = versions[met - 1]!;
    if (then === 'deleted') return [{ answer: 'deleted' }];
    const reason = reasonOf(then, event);
    if (reason !== undefined) return [reason];
    if (isDeleted) return [{ answer: 'deleted' }];
    return versions.slice(met, this.#routedWith.get(event.seq)?.get(id) ?? met).flatMap((version) => {
      const later = version === 'deleted' ? undefined : reasonOf(version, event);
      return later === undefined ? [] : [later];
    });
  }

  async answer(event: LoggedEvent, nowMs = Date.now()) {
    return answers.of(this.orgId, event, nowMs);
  }

  #versions(): ReadonlyMap<EndpointId, number> {
    return new Map([...this.history].map(([id, versions]) => [id, versions.length]));
  }

  #last(id: EndpointId): Configuration {
    const last = this.history.get(id)?.at(-1);
    if (last === undefined || last === 'deleted') throw new Error('there is no such endpoint');
    return last;
  }

  async #schedule(event: AskedEvent, id: EndpointId): Promise<void> {
    const delivery = {
      deliveryId: deliveryIdOf(event.id, id),
      endpointId: id,
      orgId: this.orgId,
      eventId: event.id,
      event: event.event,
      seq: event.seq,
      createdAtMs: event.appendedAt.getTime(),
    };
    const offset = this.#facts++;
    const topic = `deliveries-${this.partition}`;
    await new DeliveryProjection(store, 20).apply(
      { projection: 'deliveries', topic, partition: 0, firstOffset: offset, nextOffset: offset + 1 },
      [{ offset, fact: { type: 'scheduled', delivery } }],
    );
    this.#delivered.add(`${event.id}/${id}`);
  }
}

/** Makes a step of a random history. */
async function step(random: Random, lags: boolean): Promise<void> {
  const living = [...world.history].flatMap(([id, versions]) => (versions.at(-1) === 'deleted' ? [] : [id]));
  const some = <T>(values: readonly T[]): T[] => values.filter(() => random.chance(0.6));
  const subscription = {
    events: some(TYPES),
    widgetIds: random.chance(0.5) ? null : some(WIDGETS),
    filter: random.chance(0.5) ? null : random.pick(['red', 'green']),
  };
  const dice = random.between(0, 10);
  if (dice < 1.2 || living.length === 0) await world.create(subscription);
  else if (dice < 2.5) await world.change(random.pick(living), subscription);
  else if (dice < 4) {
    const id = random.pick(living);
    const last = world.history.get(id)!.at(-1) as Configuration;
    await world.switch(id, last.inactiveSince !== null);
  } else if (dice < 4.5) await world.delete(random.pick(living));
  else {
    const widgetId = random.chance(0.5) ? null : random.pick(WIDGETS);
    await world.append({
      event: random.pick(TYPES),
      widgetId,
      envelope: Buffer.from(random.pick(['red', 'green', 'blue'])),
    });
  }
  if (!lags || random.chance(0.3)) await world.show(lags ? 2 : Infinity);
  if (!lags || random.chance(0.3)) await world.route(lags ? 2 : Infinity);
}

describe('the answers about the events of a random history', () => {
  it.each([
    [1, false],
    [2, false],
    [3, true],
    [4, true],
  ])('name each endpoint once, with what it met (seed %i, lag: %s)', async (seed, lags) => {
    const random = new Random(seed);
    for (let nth = 0; nth < 150; nth++) await step(random, lags);
    await world.show();
    await world.route();
    const counts = new Map<string, number>();
    for (const event of world.log) {
      for (const { endpointId, outcome, deletedAt } of await world.answer(event)) {
        const answer = 'status' in outcome ? outcome.status : outcome.answer;
        counts.set(answer, (counts.get(answer) ?? 0) + 1);
        const shown = 'status' in outcome ? { status: outcome.status } : outcome;
        const expected = world.expected(event, endpointId);
        expect([event.seq, expected]).toEqual([event.seq, expect.arrayContaining([shown])]);
        expect(deletedAt !== null).toBe(world.history.get(endpointId)?.at(-1) === 'deleted');
      }
      const named = (await world.answer(event)).map(({ endpointId }) => endpointId);
      expect(named.toSorted()).toEqual([...world.history.keys()].toSorted());
    }
    const sum = [...counts.values()].reduce((one, other) => one + other, 0);
    expect(sum).toBe(world.log.length * world.history.size);
    expect([...counts.keys()].toSorted()).toEqual(
      ['deleted', 'filtered', 'inactive', 'not_subscribed', 'not_yet_created', 'out_of_scope', 'pending'].toSorted(),
    );
  });
});

/** The only endpoint's answer about the event. */
async function onlyAnswer(event = world.log.at(-1)!, nowMs?: number): Promise<string> {
  const [answer, ...others] = await world.answer(event, nowMs);
  expect(others).toEqual([]);
  return 'status' in answer!.outcome ? answer!.outcome.status : answer!.outcome.answer;
}

describe('an event that came while a change was made', () => {
  it('is pending for a minute, and then met the version before', async () => {
    const id = await world.create({ events: ['ticket.reply'] });
    await world.append();
    // Routed before the change is committed, but its time is later.
    await world.route();
    await world.change(id, { events: ['ticket.created'] });
    const event = { ...world.log.at(-1)!, appendedAt: await tick() };
    expect(await onlyAnswer(event)).toBe('pending');
    expect(await onlyAnswer(event, event.appendedAt.getTime() + 2 * MINUTE_MS)).toBe('not_subscribed');
    const later = { ...event, appendedAt: new Date(event.appendedAt.getTime() + 2 * MINUTE_MS) };
    expect(await onlyAnswer(later, later.appendedAt.getTime() + 2 * MINUTE_MS)).toBe('pending');
  });

  it('met no endpoint if that was its creation', async () => {
    await world.create();
    await world.append();
    const event = world.log.at(-1)!;
    expect(await onlyAnswer(event)).toBe('pending');
    expect(await onlyAnswer(event, event.appendedAt.getTime() + 2 * MINUTE_MS)).toBe('not_yet_created');
  });
});

describe('the answer about one endpoint', () => {
  it('is the one among all', async () => {
    await world.create();
    const id = await world.create({ widgetIds: WIDGETS.slice(0, 1) });
    await world.append({ widgetId: WIDGETS[1]! });
    const [event] = world.log;
    const only = await answers.of(world.orgId, event!, Date.now(), id);
    expect(only).toEqual((await world.answer(event!)).filter(({ endpointId }) => endpointId === id));
    expect(only).toMatchObject([{ endpointId: id, outcome: { answer: 'out_of_scope' } }]);
  });
});

describe('the history of an endpoint', () => {
  const versions = () =>
    store.query('select 1 from endpoint_versions where org_id = $1', [world.orgId]).then((rows) => rows.length);

  it('has no version for changes that decide nothing', async () => {
    const id = await world.create({ events: TYPES });
    await records.update(world.orgId, id, { name: 'new', events: TYPES }, new Date(), () => Promise.resolve());
    expect(await versions()).toBe(1);
    await world.change(id, { events: [] });
    expect(await versions()).toBe(2);
  });

  it('keeps what was in force at a time, and all that followed', async () => {
    const [changed, deleted] = [await world.create(), await world.create()];
    await world.change(changed, { events: [] });
    await world.delete(deleted);
    await world.append();
    const history = new EndpointVersions(store);
    const { appendedAt } = world.log[0]!;
    const before = (ms: number) => new Date(appendedAt.getTime() + ms);
    await history.prune(before(-DAY_MS));
    expect(await versions()).toBe(4);
    await history.prune(before(0));
    expect(await versions()).toBe(1);
    expect(await onlyAnswer()).toBe('not_subscribed');
  });

  it('is removed 10,000 versions at a time', async () => {
    const id = await world.create();
    await store.query(
      `insert into endpoint_versions (endpoint_id, org_id, after_seq, changed_at, replaced_at, events)
       select $1, $2, 0, to_timestamp(n), to_timestamp(n + 1), '{}' from generate_series(1, 25000) n`,
      [id, world.orgId],
    );
    const history = new EndpointVersions(store);
    const before = new Date('2000-01-01');
    expect([await history.prune(before), await history.prune(before), await history.prune(before)]).toEqual([
      false,
      false,
      true,
    ]);
    expect(await versions()).toBe(1);
  });

  it('is read up to 50 versions after an event', async () => {
    const id = await world.create();
    for (let nth = 0; nth < 60; nth++) await world.change(id, { events: nth % 2 === 0 ? [] : TYPES });
    const around = await new EndpointVersions(store).around(world.orgId, null, new Map([[id, 0n]]));
    expect(around.get(id)).toHaveLength(50);
    expect(around.get(id)![0]!.events).not.toEqual([]);
  });

  it('is that of the backup after a restore, which fills the endpoints first', async () => {
    const changed = await world.create({ events: [] });
    await world.create();
    const deleted = await world.create();
    await world.append();
    await world.show();
    await world.delete(deleted);
    await world.change(changed, { events: TYPES });
    await world.append();
    await world.show();
    const all = () => Promise.all(world.log.map((event) => world.answer(event)));
    const before = await all();
    const backup: [table: string, rows: string][] = [];
    for (const table of ['endpoints', 'endpoint_versions']) {
      const [row] = await store.query<{ rows: string }>(
        `select json_agg(t)::text as rows from ${table} t where org_id = $1`,
        [world.orgId],
      );
      backup.push([table, row!.rows]);
    }
    for (const [table] of backup) await store.query(`delete from ${table} where org_id = $1`, [world.orgId]);
    for (const [table, rows] of backup) {
      const restored = `select * from json_populate_recordset(null::${table}, $1)`;
      await store.query(`insert into ${table} overriding system value ${restored}`, [rows]);
    }
    expect([await versions(), await all()]).not.toEqual([5, before]);
    await world.change(changed, { events: ['ticket.created'] });
    expect([await versions(), await all()]).not.toEqual([6, before]);
    await new EndpointVersions(store).removeAdded();
    expect([await versions(), await all()]).toEqual([6, before]);
  });

  it('ends with the organization', async () => {
    await world.delete(await world.create());
    await world.create();
    const orgs = new OrgRecords(store);
    expect(await orgs.delete(world.orgId)).toBe(true);
    expect(await versions()).toBe(0);
    expect(await orgs.delete(world.orgId)).toBe(false);
  });

  it('begins with what an installation from before knows', async () => {
    await world.append();
    const [paused, changed] = [await world.create({ events: TYPES }), await world.create({ events: [] })];
    await world.switch(paused, false);
    await world.append();
    await world.switch(paused, true);
    await world.append();
    await world.change(changed, { events: TYPES });
    await world.append();
    await world.show();
    const { dataSource } = store;
    const isDone = () => store.query(`select 1 from migrations where name like 'EndpointVersions%'`);
    while ((await isDone()).length > 0) await dataSource.undoLastMigration({ transaction: 'each' });
    await dataSource.runMigrations();
    const found: string[][] = [];
    for (const event of world.log) {
      found.push((await world.answer(event)).map(({ outcome }) => ('answer' in outcome ? outcome.answer : '')));
    }
    expect(found).toEqual([
      ['not_yet_created', 'not_yet_created'],
      ['inactive', 'not_subscribed'],
      ['pending', 'not_subscribed'],
      ['pending', 'pending'],
    ]);
  });
});
