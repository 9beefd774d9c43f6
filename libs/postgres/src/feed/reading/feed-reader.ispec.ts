import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import type { OrgId, Seq, WidgetId } from '#libs/domain';
import { anOrgId } from '../../../../../test/support/ids.js';
import { oneTo } from '../../../../../test/support/sequence.js';
import { Store } from '../../connection/store.js';
import { DayPartitions } from '../../projections/days/day-partitions.js';
import { FeedProjection } from '../../projections/feed-projection.js';
import { aTestStore } from '../../testing/a-test-store.js';
import { indexEntriesRead, indexPagesRead } from '../../testing/index-entries-read.js';
import type { FeedPage } from './feed-page.js';
import { eventKey, FeedReader, type FeedQuery } from './feed-reader.js';

const DAY_MS = 86_400_000;
const HOUR_MS = DAY_MS / 24;
const FIRST_DAY_MS = Date.UTC(2026, 4, 1);
const RETENTION_DAYS = 30;

let store: Store;
let drop: () => Promise<void>;
let reader: FeedReader;
let orgId: OrgId;
let topics = 0;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
});

afterAll(async () => {
  await drop();
});

beforeEach(() => {
  orgId = anOrgId();
  reader = new FeedReader(store, RETENTION_DAYS * DAY_MS);
});

/** Writes events 1, 2, … that were appended so many hours after the first day began. */
async function write(hours: readonly number[], padding: (seq: number) => string = () => ''): Promise<void> {
  const stretch = { projection: 'feed', topic: `log-${topics++}`, partition: 0 } as const;
  const events = hours.map((hour, offset) => ({
    offset,
    orgId,
    seq: (offset + 1) as Seq,
    id: idOf(offset + 1),
    event: 'ticket.created',
    widgetId: null,
    appendedAtMs: FIRST_DAY_MS + hour * HOUR_MS,
    envelope: Buffer.from(`{"seq":${offset + 1}${padding(offset + 1)}}`),
  }));
  await new FeedProjection(store).apply({ ...stretch, firstOffset: 0, nextOffset: events.length }, events);
}

function idOf(seq: number) {
  return `evt_${String(seq).padStart(26, '0')}` as const as Parameters<typeof eventKey>[1];
}

/** The time at which events from that hour on are served. */
function whenServedFrom(hour: number): number {
  return FIRST_DAY_MS + hour * HOUR_MS + RETENTION_DAYS * DAY_MS;
}

async function read(since: number, nowMs: number, limit = 1_000) {
  const page = await reader.page(orgId, { since: since as Seq, limit }, nowMs);
  return { seqs: page.items.map(({ seq }) => Number(seq)), oldest: Number(page.oldestSeq), next: page.nextSeq };
}

describe('the feed over days', () => {
  it('is read the same from every seq, whatever the days, their order, and what is past retention', async () => {
    await fc.assert(
      fc.asyncProperty(
        // A clock that goes back by more than a day moves the oldest seq, as it moves what is past retention.
        fc.array(fc.record({ step: fc.nat({ max: 30 }), back: fc.constantFrom(0, 0, 1, 23) }), {
          minLength: 1,
          maxLength: 10,
        }),
        fc.array(fc.integer({ min: 0, max: 73 }), { minLength: 1, maxLength: 4 }),
        async (steps, servedFrom) => {
          orgId = anOrgId();
          let clock = 23;
          const written = steps.map(({ step, back }) => (clock += step) - back);
          await write(written);
          for (const from of servedFrom.toSorted((one, other) => one - other)) {
            // After the oldest one, nothing is left out, whatever its time.
            const oldest = written.findIndex((hour) => hour >= from);
            const served = oldest === -1 ? [] : oneTo(written.length).slice(oldest);
            for (let since = 0; since <= written.length; since++) {
              expect(await read(since, whenServedFrom(from))).toEqual({
                seqs: served.filter((seq) => seq > since),
                oldest: served[0] ?? written.length + 1,
                next: null,
              });
            }
            expect(await reader.bounds(orgId, whenServedFrom(from))).toEqual({
              headSeq: written.length,
              oldestSeq: served[0] ?? written.length + 1,
            });
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it('lacks no event after the oldest one, though a clock went back over midnight', async () => {
    await write([24.001, 23.999, 24.002]);
    const nowMs = whenServedFrom(24);
    await new DayPartitions(store).prune(nowMs, RETENTION_DAYS * DAY_MS);
    expect(await read(0, nowMs)).toEqual({ seqs: [1, 2, 3], oldest: 1, next: null });
    const backwards = { since: 0 as Seq, limit: 10, isDescending: true, events: ['ticket.created', 'lead.created'] };
    const { items } = await reader.page(orgId, backwards, nowMs);
    expect(items.map(({ seq }) => Number(seq))).toEqual([3, 2, 1]);
    expect(await read(0, whenServedFrom(24.0015))).toEqual({ seqs: [3], oldest: 3, next: null });
  });

  it('goes on over days without events', async () => {
    await write([1, 1, 60, 60]);
    expect(await read(0, whenServedFrom(0), 3)).toEqual({ seqs: [1, 2, 3], oldest: 1, next: 3 });
    expect(await read(2, whenServedFrom(0))).toEqual({ seqs: [3, 4], oldest: 1, next: null });
  });

  it('knows of events that another writer has stored', async () => {
    await write([1]);
    await new DayPartitions(store).ensure([FIRST_DAY_MS + 30 * HOUR_MS]);
    await store.query(`insert into events values ($1, 2, $2, $3, 'ticket.created', null, '{"seq":2}')`, [
      orgId,
      new Date(FIRST_DAY_MS + 30 * HOUR_MS),
      idOf(2),
    ]);
    expect((await read(1, whenServedFrom(0))).seqs).toEqual([2]);
  });

  it('shows older events that a rebuild has brought back, a minute later', async () => {
    await write([1, 2, 3]);
    await store.query('delete from events where org_id = $1 and seq = 1', [orgId]);
    expect((await read(0, whenServedFrom(0))).oldest).toBe(2);
    await store.query(`insert into events values ($1, 1, $2, $3, 'ticket.created', null, '{"seq":1}')`, [
      orgId,
      new Date(FIRST_DAY_MS + HOUR_MS),
      idOf(1),
    ]);
    expect(await read(0, whenServedFrom(0) + 60_000)).toEqual({ seqs: [1, 2, 3], oldest: 1, next: null });
  });

  it('forgets days that are dropped', async () => {
    await write([1, 30]);
    // A day whose table went before its entries did, and more entries than one statement deletes.
    await store.query(
      `insert into feed_days select gen_random_uuid(), $1::date - n % 2, 99 from generate_series(1, 2500) n`,
      [new Date(FIRST_DAY_MS).toISOString().slice(0, 10)],
    );
    await new DayPartitions(store).drop(FIRST_DAY_MS + DAY_MS);
    expect(await store.query('select count(*)::int as count from feed_days where last_seq = 99')).toEqual([
      { count: 0 },
    ]);
    expect(await store.query('select last_seq from feed_days where org_id = $1', [orgId])).toEqual([{ last_seq: '2' }]);
    expect(await read(0, whenServedFrom(0))).toEqual({ seqs: [2], oldest: 2, next: null });
  });
});

/** What a day had when its statistics were made, in SQL: the org and the widget of each event. All are of one type. */
const EARLIER_EVENTS: readonly [string, string, string][] = [
  ['of one org and one widget', `'${anOrgId()}'`, `'00000000-0000-4000-8000-000000000001'`],
  ['without a widget', `'${anOrgId()}'`, 'null'],
  ['of an org and a widget of their own', 'gen_random_uuid()', 'gen_random_uuid()'],
];

describe.each(EARLIER_EVENTS)('a day whose statistics know only events %s', (_events, itsOrg, itsWidget) => {
  const EVENTS = 20_000;
  const EARLY_WIDGET = '00000000-0000-4000-8000-000000000000' as WidgetId;
  const WIDGET = '00000000-0000-4000-8000-000000000001' as WidgetId;
  const OTHER_WIDGET = '00000000-0000-4000-8000-000000000002' as WidgetId;
  const LATE_WIDGET = '00000000-0000-4000-8000-000000000003' as WidgetId;
  const CREATED = ['lead.created', 'ticket.created'];
  const EARLY = ['a.first', 'lead.assigned'];
  const LATE = ['ticket.updated', 'z.last'];
  const nowMs = whenServedFrom(0);
  const org = anOrgId();
  let own: Awaited<ReturnType<typeof aTestStore>>;
  let ownReader: FeedReader;

  /** Half of the org's events are tickets of one widget, and half are leads of the other. */
  beforeAll(async () => {
    own = await aTestStore();
    await new DayPartitions(own.store).ensure([FIRST_DAY_MS]);
    const append = (columns: { orgId: string; type: string; widgetId: string }) =>
      own.store.query(
        `insert into events (org_id, seq, appended_at, event_id, event_type, widget_id, envelope)
         select ${columns.orgId}, n, $1::timestamptz + n * interval '1 ms', 'evt_' || lpad(n::text, 26, '0'), ${columns.type},
           ${columns.widgetId}::uuid, '{}'
         from generate_series(1, $2::int) n`,
        [new Date(FIRST_DAY_MS), EVENTS],
      );
    await append({ orgId: `${itsOrg}::uuid`, type: `'ticket.created'`, widgetId: itsWidget });
    await own.store.query('analyze events');
    await append({
      orgId: `'${org}'::uuid`,
      type: `case n % 2 when 0 then 'ticket.created' else 'lead.created' end`,
      widgetId: `case n % 2 when 0 then '${WIDGET}' else '${OTHER_WIDGET}' end`,
    });
    ownReader = new FeedReader(own.store, RETENTION_DAYS * DAY_MS);
    // Pages of a reader without it look for the oldest event first.
    await ownReader.bounds(org, nowMs);
  });

  afterAll(() => own.drop());

  /** Expects a read to find that, in few of the pages of indexes. An index of half of the events has more than 80. */
  async function expectFewPages<T>(found: T, readIt: () => Promise<T>): Promise<void> {
    const pages = await indexPagesRead(own.store, org, async () => {
      expect(await readIt()).toEqual(found);
    });
    expect(pages).toBeLessThan(60);
  }

  const NEWEST_FIRST = { isDescending: true };

  it.each<[string, Partial<FeedQuery>, number[]]>([
    ['nothing', {}, [1, 2, 3]],
    ['nothing, newest first', NEWEST_FIRST, [EVENTS, EVENTS - 1, EVENTS - 2]],
    ['nothing, between two seqs', { since: 10_000 as Seq, until: 10_002 as Seq }, [10_001, 10_002]],
    ['a type', { events: ['ticket.created'] }, [2, 4, 6]],
    ['a type, newest first', { events: ['lead.created'], ...NEWEST_FIRST }, [EVENTS - 1, EVENTS - 3, EVENTS - 5]],
    ['a type, up to a seq', { events: ['ticket.created'], until: 5 as Seq }, [2, 4]],
    [
      'a type, newest first, down to a seq',
      { events: ['lead.created'], since: (EVENTS - 4) as Seq, ...NEWEST_FIRST },
      [EVENTS - 1, EVENTS - 3],
    ],
    ['a type after the others, newest first', { events: ['z.last'], ...NEWEST_FIRST }, []],
    ['a type before the others', { events: ['a.first'] }, []],
    ['several types', { events: CREATED }, [1, 2, 3]],
    ['several types without events', { events: [...EARLY, ...LATE] }, []],
    ['several types without events, newest first', { events: [...EARLY, ...LATE], ...NEWEST_FIRST }, []],
    ['a widget', { widgetId: OTHER_WIDGET, since: 10_000 as Seq }, [10_001, 10_003, 10_005]],
    ['a widget before the others', { widgetId: EARLY_WIDGET }, []],
    ['a widget after the others, newest first', { widgetId: LATE_WIDGET, ...NEWEST_FIRST }, []],
    ['a type and a widget', { events: ['ticket.created'], widgetId: WIDGET }, [2, 4, 6]],
    ['a type of another widget', { events: ['ticket.created'], widgetId: OTHER_WIDGET }, []],
    [
      'a type of another widget, newest first',
      { events: ['ticket.created'], widgetId: OTHER_WIDGET, ...NEWEST_FIRST },
      [],
    ],
    ['a type of another widget, up to a seq', { events: ['lead.created'], widgetId: WIDGET, until: EVENTS as Seq }, []],
    [
      'several types and a widget',
      { events: CREATED, widgetId: WIDGET, since: 10_000 as Seq },
      [10_002, 10_004, 10_006],
    ],
    ['several types of another widget', { events: [...EARLY, 'lead.created', ...LATE], widgetId: WIDGET }, []],
    [
      'several types of another widget, newest first',
      { events: [...EARLY, 'ticket.created', ...LATE], widgetId: OTHER_WIDGET, ...NEWEST_FIRST },
      [],
    ],
  ])('is not read through for a page that is filtered by %s', async (_filter, filter, seqs) => {
    await expectFewPages(seqs, async () => {
      const { items } = await ownReader.page(org, { since: 0 as Seq, limit: 3, ...filter }, nowMs);
      return items.map(({ seq }) => Number(seq));
    });
  });

  it.each<[string, Partial<FeedQuery>, number[]]>([
    ['a type that has no more', { events: ['lead.created'] }, []],
    ['a type that has no more, newest first', { events: ['lead.created'], ...NEWEST_FIRST }, []],
    ['a type before the others', { events: ['a.first'] }, []],
    ['several types before others', { events: EARLY }, []],
    ['a widget before the others', { widgetId: EARLY_WIDGET }, []],
    ['a widget that has no more, newest first', { widgetId: OTHER_WIDGET, ...NEWEST_FIRST }, []],
    ['a type that is served', { events: ['ticket.created'] }, [EVENTS]],
    ['a type that is served, newest first', { events: ['ticket.created'], ...NEWEST_FIRST }, [EVENTS]],
  ])('is not read through when all but one are past retention, for %s', async (_filter, filter, seqs) => {
    const lateMs = whenServedFrom(EVENTS / HOUR_MS);
    await ownReader.bounds(org, lateMs);
    await expectFewPages(seqs, async () => {
      const { items } = await ownReader.page(org, { since: 0 as Seq, limit: 3, ...filter }, lateMs);
      return items.map(({ seq }) => Number(seq));
    });
  });

  it('is not read through for the oldest event, one event, or a time', async () => {
    const newReader = new FeedReader(own.store, RETENTION_DAYS * DAY_MS);
    await expectFewPages(1, async () => Number((await newReader.bounds(org, nowMs)).oldestSeq));
    await expectFewPages(idOf(9), async () => (await ownReader.find(org, 9 as Seq, nowMs))?.id);
    await expectFewPages(9, async () => Number((await ownReader.findById(org, idOf(9), nowMs))?.seq));
    const time = new Date(FIRST_DAY_MS + 9_000);
    await expectFewPages(8_999, async () => Number(await ownReader.seqBefore(org, time, 0 as Seq, EVENTS as Seq)));
  });
});

describe('an oldest day with many events past retention', () => {
  /** Appends events 1, 2, … of the first day. @param after when each was appended, from `n`; an interval */
  async function append(count: number, after: string): Promise<void> {
    await new DayPartitions(store).ensure([FIRST_DAY_MS]);
    await store.query(
      `insert into events select $1, n, $2::timestamptz + ${after}, 'evt_' || lpad(n::text, 26, '0'),
         'ticket.created', null, '{}'
       from generate_series(1, $3::int) n`,
      [orgId, new Date(FIRST_DAY_MS), count],
    );
  }

  const whenServedFromSecond = (second: number) => whenServedFrom(second / 3_600);

  it('is read without most of them, again a minute later', async () => {
    const EVENTS = 100_000;
    await append(EVENTS, `n * interval '0.5 s'`);
    const nowMs = whenServedFromSecond(EVENTS / 2);
    const pages = await indexPagesRead(store, orgId, async () => {
      expect(await read(0, nowMs)).toEqual({ seqs: [EVENTS], oldest: EVENTS, next: null });
      expect((await reader.bounds(orgId, nowMs - 60_000)).oldestSeq).toBe(EVENTS - 120);
      // Nothing is served any more.
      expect((await read(0, nowMs + 60_000)).seqs).toEqual([]);
      expect((await read(0, nowMs + 60_000)).seqs).toEqual([]);
    });
    // An index that holds all of them has more than 400, and each of these reads would go through it.
    expect(pages).toBeLessThan(800);
  });

  it('begins with the first event that is served, though the clock went back by less than a minute', async () => {
    await append(3_000, `n * interval '0.1 s' - case when n > 2000 then interval '50 s' else interval '0 s' end`);
    expect(await read(0, whenServedFromSecond(190), 3)).toEqual({
      seqs: [1_900, 1_901, 1_902],
      oldest: 1_900,
      next: 1_902,
    });
    expect((await reader.bounds(orgId, whenServedFromSecond(195))).oldestSeq).toBe(1_950);
  });

  describe('of which nothing is served', () => {
    const EVENTS = 3_000;
    const nothing = { seqs: [], oldest: EVENTS + 1, next: null };
    const setHead = (seq: number) =>
      store.query(
        `insert into org_heads (org_id, last_seq) values ($1, $2)
         on conflict (org_id) do update set last_seq = excluded.last_seq`,
        [orgId, seq],
      );
    const add = async (seq: number, second: number) => {
      await store.query(`insert into events values ($1, $2, $3, $4, 'ticket.created', null, '{}')`, [
        orgId,
        seq,
        new Date(FIRST_DAY_MS + second * 1_000),
        idOf(seq),
      ]);
      await setHead(seq);
    };

    beforeEach(async () => {
      await append(EVENTS, `n * interval '0.01 s'`);
      await setHead(EVENTS);
    });

    it('is searched once a minute, and new events are found', async () => {
      const asked = jest.spyOn(Store.prototype, 'preparedForOrg');
      const searches = () => asked.mock.calls.filter(([, name]) => name === 'feed-least-seq').length;
      try {
        for (const second of [100, 101, 102]) expect(await read(0, whenServedFromSecond(second))).toEqual(nothing);
        expect(await reader.bounds(orgId, whenServedFromSecond(103))).toEqual({
          headSeq: EVENTS,
          oldestSeq: EVENTS + 1,
        });
        expect(searches()).toBe(1);
        await add(EVENTS + 1, 150);
        const found = { seqs: [EVENTS + 1], oldest: EVENTS + 1, next: null };
        expect(await read(0, whenServedFromSecond(104))).toEqual(found);
        expect(searches()).toBe(1);
        expect(await read(0, whenServedFromSecond(160))).toEqual({ ...nothing, oldest: EVENTS + 2 });
        expect(searches()).toBe(2);
      } finally {
        asked.mockRestore();
      }
    });

    it('is searched again at once if the feed is being rebuilt', async () => {
      expect(await read(0, whenServedFromSecond(100))).toEqual(nothing);
      for (const table of ['events', 'org_heads', 'feed_days']) {
        await store.query(`delete from ${table} where org_id = $1`, [orgId]);
      }
      expect(await read(0, whenServedFromSecond(101))).toEqual({ seqs: [], oldest: 0, next: null });
      await add(1, 150);
      expect(await read(0, whenServedFromSecond(102))).toEqual({ seqs: [1], oldest: 1, next: null });
    });
  });

  it('is searched once for reads that come together', async () => {
    await append(10, `n * interval '1 s'`);
    const asked = jest.spyOn(Store.prototype, 'preparedForOrg');
    const reads = [read(0, whenServedFromSecond(5)), read(7, whenServedFromSecond(5))];
    expect((await Promise.all(reads)).map(({ oldest }) => oldest)).toEqual([5, 5]);
    expect(asked.mock.calls.map(([, name]) => name)).toEqual([
      'feed-least-seq',
      'feed-page-any-asc',
      'feed-page-any-asc',
    ]);
    asked.mockRestore();
  });
});

describe('ids', () => {
  it('are found in each org on its own, whatever the day', async () => {
    await write([1, 30, 60]);
    const [one, other] = [orgId, anOrgId()];
    const keys = [eventKey(one, idOf(1)), eventKey(one, idOf(3)), eventKey(one, idOf(4)), eventKey(other, idOf(2))];
    const { known } = await reader.lookUp([...keys, keys[0]!], 'log');
    expect([...known].sort()).toEqual([keys[0], keys[1]]);
  });

  it('are found in lists of any length, and when they are in a list twice', async () => {
    const [long, short] = [orgId, anOrgId()];
    await write(Array.from({ length: 30 }, (_, index) => index * 2));
    orgId = short;
    await write([1, 30]);
    const keysOf = (org: OrgId, seqs: readonly number[]) => seqs.map((seq) => eventKey(org, idOf(seq)));
    for (const count of [19, 20, 21, 40]) {
      const keys = [...keysOf(long, oneTo(count)), ...keysOf(short, [2, 2, 3])];
      const { known } = await reader.lookUp([...keys, keys[0]!], 'log');
      expect([...known].sort()).toEqual([...keysOf(long, oneTo(Math.min(count, 30))), ...keysOf(short, [2])].sort());
    }
  });

  it('of a short list are not looked for in all events of their org, among many small orgs', async () => {
    const EVENTS = 3_000;
    const own = await aTestStore();
    try {
      await new DayPartitions(own.store).ensure([FIRST_DAY_MS]);
      await own.store.query(
        `insert into events
         select case when n <= $3::int then $1::uuid else gen_random_uuid() end, n, $2, 'evt_' || lpad(n::text, 26, '0'),
           'ticket.created', null, '{}'
         from generate_series(1, $3::int + 10000) n`,
        [orgId, new Date(FIRST_DAY_MS), EVENTS],
      );
      await own.store.query('analyze events');
      const ownReader = new FeedReader(own.store, RETENTION_DAYS * DAY_MS);
      const keys = [EVENTS, EVENTS + 1].map((seq) => eventKey(orgId, idOf(seq)));
      const entries = await indexEntriesRead(own.store, orgId, async () => {
        expect([...(await ownReader.lookUp(keys, 'log')).known]).toEqual([keys[0]]);
      });
      expect(entries).toBeLessThan(200);
    } finally {
      await own.drop();
    }
  });
});

describe('a page of large events', () => {
  const COUNT = 40;
  /** Some are larger than a piece of a page, and all have characters of more than one byte. */
  const textOf = (seq: number) => `,"text":"${'ü😀'.repeat(seq % 7 === 0 ? 10_000 : seq * 50)}"`;
  const bytesOf = (seq: number) => Buffer.byteLength(`{"seq":${seq}${textOf(seq)}}`);

  beforeEach(() =>
    write(
      Array.from({ length: COUNT }, () => 12),
      textOf,
    ),
  );

  it('has them whole and in their order, in either direction', async () => {
    for (const isDescending of [false, true]) {
      const page = await reader.page(orgId, { since: 0 as Seq, limit: 100, isDescending }, whenServedFrom(0));
      const seqs = isDescending ? oneTo(COUNT).toReversed() : oneTo(COUNT);
      expect(page.items.map(({ seq }) => Number(seq))).toEqual(seqs);
      const texts = seqs.map((seq) => `{"seq":${seq}${textOf(seq)}}`);
      expect(page.items.map(({ envelope }) => envelope)).toEqual(texts);
      expect(page.json.toString()).toBe(`{"data":[${texts.join(',')}],"next_seq":null}`);
    }
  });

  it('ends before its size, in the middle of a piece as well, and goes on from there', async () => {
    for (const maxBytes of [1, 1_000, 60_000, 150_000, 400_000]) {
      const seen: number[] = [];
      for (let since: Seq | null = 0 as Seq; since !== null;) {
        const page: FeedPage = await reader.page(orgId, { since, limit: 15, maxBytes }, whenServedFrom(0));
        const seqs = page.items.map(({ seq }) => Number(seq));
        const bytes = seqs.reduce((sum, seq) => sum + bytesOf(seq), 0);
        expect(seqs.length === 1 || bytes <= maxBytes).toBe(true);
        const [next = COUNT] = seqs.slice(-1);
        expect(page.nextSeq).toBe(next === COUNT ? null : next);
        // It is as full as it may be.
        if (next < COUNT && seqs.length < 15) expect(bytes + bytesOf(next + 1)).toBeGreaterThan(maxBytes);
        seen.push(...seqs);
        since = page.nextSeq;
      }
      expect(seen).toEqual(oneTo(COUNT));
    }
  });
});
