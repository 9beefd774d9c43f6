import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  deliveryIdOf,
  outOfTime,
  type DeliveryFact,
  type EndpointId,
  type EventId,
  type OrgId,
  type Seq,
} from '#libs/domain';
import { aDueAttempt } from '../../../../test/support/due-attempts.js';
import { anOrgId } from '../../../../test/support/ids.js';
import { SigningKeys } from '../access/signing-keys.js';
import { DayPartitions } from '../projections/days/day-partitions.js';
import { DeliveryProjection } from '../projections/delivery-projection.js';
import { EndpointDirectory } from './endpoint-directory.js';
import { EndpointRecords } from './endpoint-records.js';
import type { Store } from '../connection/store.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { aCipher, aTestStore } from '../testing/a-test-store.js';
import { indexEntriesRead } from '../testing/index-entries-read.js';
import { InactivePeriods } from './inactive-periods.js';

const AT_MS = 1_772_366_400_000;
const HOUR_MS = 3_600_000;

let store: Store;
let drop: () => Promise<void>;
let records: EndpointRecords;
let orgId: OrgId;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  records = new EndpointRecords(store, aCipher());
});

afterAll(async () => {
  await drop();
});

beforeEach(() => {
  orgId = anOrgId();
});

/** The feed shows so many events of the org, whatever the log holds. */
async function feedShows(events: number): Promise<void> {
  await store.query(
    `insert into org_heads (org_id, last_seq) values ($1, $2)
     on conflict (org_id) do update set last_seq = excluded.last_seq`,
    [orgId, events],
  );
}

async function switches(id: EndpointId, becomes: boolean, logEnd: number): Promise<void> {
  await records.update(orgId, id, { isActive: { becomes, logEnd } }, new Date(AT_MS), () => Promise.resolve());
}

/** Which of the org's first events the endpoint receives, when all of them are routed now. */
async function received(id: EndpointId, events: number): Promise<readonly number[]> {
  const subscribers = await new EndpointDirectory(store, aCipher()).subscribersOf(
    new Map([[orgId, { seq: 1 as Seq, offset: 0 }]]),
  );
  const subscriber = subscribers.get(orgId)?.find((one) => one.id === id);
  if (subscriber === undefined) return [];
  return Array.from({ length: events }, (_, offset) => offset + 1).filter(
    (seq) => outOfTime(subscriber, { seq: seq as Seq, offset: seq - 1, appendedAtMs: AT_MS }) === undefined,
  );
}

describe('while the feed lags the log', () => {
  it('a new endpoint receives what the log did not hold', async () => {
    await feedShows(2);
    const id = await anEndpoint(store, orgId, 5);
    expect(await received(id, 8)).toEqual([6, 7, 8]);
  });

  it('an endpoint that is disabled and enabled receives all but what the log came to hold meanwhile', async () => {
    const id = await anEndpoint(store, orgId, 0);
    await feedShows(1);
    await switches(id, false, 3);
    await feedShows(4);
    await switches(id, true, 6);
    expect(await received(id, 8)).toEqual([1, 2, 3, 7, 8]);
  });

  it('and does so when the feed has stood still', async () => {
    const id = await anEndpoint(store, orgId, 0);
    await switches(id, false, 3);
    await switches(id, true, 6);
    expect(await received(id, 8)).toEqual([1, 2, 3, 7, 8]);
  });

  /** The endpoint fails too often. */
  async function failsAt(id: EndpointId, logEnds: ReadonlyMap<OrgId, number>): Promise<void> {
    const projection = new DeliveryProjection(store, 1, 'disable', () => Promise.resolve(logEnds));
    const topic = `deliveries-${id}`;
    const stretch = { projection: 'deliveries', topic, partition: 0, firstOffset: 0, nextOffset: 1 };
    await projection.apply(stretch, [{ offset: 0, fact: aFailure(id) }]);
  }

  it('and when it was disabled because it failed too often', async () => {
    const id = await anEndpoint(store, orgId, 0);
    await failsAt(id, new Map([[orgId, 3]]));
    await feedShows(5);
    await switches(id, true, 6);
    expect(await received(id, 8)).toEqual([1, 2, 3, 7, 8]);
  });

  it('and receives everything that is not routed yet if the log had no leader by then', async () => {
    const id = await anEndpoint(store, orgId, 0);
    await feedShows(1);
    await failsAt(id, new Map());
    await feedShows(5);
    await switches(id, true, 6);
    expect(await received(id, 8)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

describe('an endpoint that was disabled before offsets were written down', () => {
  it('receives all that the feed had not shown by then', async () => {
    const id = await anEndpoint(store, orgId, 0);
    await feedShows(2);
    await switches(id, false, 3);
    await store.query('update endpoint_inactive_periods set began_offset = null where endpoint_id = $1', [id]);
    await switches(id, true, 6);
    expect(await received(id, 8)).toEqual([1, 2, 7, 8]);
  });

  it('receives everything if nobody knows when that was', async () => {
    const id = await anEndpoint(store, orgId, 0);
    await switches(id, false, 3);
    const forget =
      'update endpoint_inactive_periods set began_offset = null, began_after_seq = null where endpoint_id = $1';
    await store.query(forget, [id]);
    await switches(id, true, 6);
    expect(await received(id, 8)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

describe('an endpoint that was inactive very often', () => {
  const OFTEN = 100_000;

  /** Stores periods of a second. The n-th began at seq 2n - 1, ended at seq 2n, and an hour after the one before. */
  async function aRestlessEndpoint(periods: number): Promise<EndpointId> {
    const id = await anEndpoint(store, orgId);
    await store.query(
      `with added as (
         insert into endpoint_inactive_periods (endpoint_id, org_id, activation, began_at, began_after_seq, began_offset,
           ended_at, ended_after_seq, ended_offset)
         select $1, $2, n, $3::timestamptz + n * interval '1 hour', 2 * n - 1, 2 * n - 1,
           $3::timestamptz + n * interval '1 hour' + interval '1 second', 2 * n, 2 * n
         from generate_series(1, $4::int) n
       ) update endpoints set activation = $4::int + 1 where id = $1`,
      [id, orgId, new Date(AT_MS), periods],
    );
    return id;
  }

  /** The seqs at which the periods began that the router knows for events from there on. */
  async function began(seq: number): Promise<readonly number[]> {
    const from = new Map([[orgId, { seq: seq as Seq, offset: seq - 1 }]]);
    const subscribers = await new EndpointDirectory(store, aCipher()).subscribersOf(from);
    return (subscribers.get(orgId)?.[0]?.inactive ?? [])
      .map((period) => period.began.afterSeq)
      .toSorted((a, b) => a - b);
  }

  it('has only the periods read that the events can be in', async () => {
    await aRestlessEndpoint(OFTEN);
    const entries = await indexEntriesRead(store, orgId, async () => {
      expect(await began(2 * OFTEN + 1)).toEqual([]);
      expect(await began(2 * OFTEN - 2)).toEqual([2 * OFTEN - 3, 2 * OFTEN - 1]);
    });
    expect(entries).toBeLessThan(100);
    expect((await began(1)).length).toBe(1_000);
    expect((await began(1))[0]).toBe(2 * (OFTEN - 1_000) + 1);
  });

  it('has its old periods removed, 10,000 at a time', async () => {
    const [restless, paused] = [await aRestlessEndpoint(25_000), await anEndpoint(store, orgId)];
    await switches(paused, false, 1);
    const periods = new InactivePeriods(store);
    const left = () =>
      store.query<{ activation: number }>(
        'select activation from endpoint_inactive_periods where org_id = $1 order by activation',
        [orgId],
      );
    // Other tests have older ones.
    const before = new Date(AT_MS + 24_999.5 * HOUR_MS);
    const isDone: boolean[] = [];
    while (isDone.length < 20 && isDone.at(-1) !== true) isDone.push(await periods.prune(before));
    expect(isDone.filter((one) => !one).length).toBeGreaterThanOrEqual(2);
    expect(await left()).toEqual([{ activation: 1 }, { activation: 25_000 }]);
    expect((await received(restless, 3)).length).toBe(3);
  });
});

function aFailure(endpointId: EndpointId): DeliveryFact {
  const eventId = `evt_${'1'.padStart(26, '0')}` as EventId;
  return {
    type: 'attempted',
    delivery: {
      deliveryId: deliveryIdOf(eventId, endpointId),
      endpointId,
      orgId,
      eventId,
      event: 'ticket.created',
      seq: 1 as Seq,
      createdAtMs: AT_MS,
    },
    run: 0,
    attempt: 1,
    activation: 1,
    startedAtMs: AT_MS,
    durationMs: 10,
    responseStatus: 500,
    error: 'http_status: 500',
    responseExcerpt: null,
    next: 'exhausted',
    nextAttemptAtMs: null,
  };
}

it('endpoints that sign with the key of the installation keep no others waiting if it cannot be read', async () => {
  const cipher = aCipher();
  const written = new EndpointRecords(store, cipher);
  const signing = await anEndpoint(store, orgId, 0, written);
  const other = await anEndpoint(store, orgId, 0, written);
  await store.query(`update endpoints set delivery_settings = '{"signatures":["ed25519"]}' where id = $1`, [signing]);
  await new SigningKeys(store, cipher).ensure();
  const { 0: key } = await store.query<{ private_ciphertext: Buffer }>(
    'select private_ciphertext from signing_keys',
    [],
  );
  await store.query(`update signing_keys set private_ciphertext = '\\x0161'`, []);
  const directory = new EndpointDirectory(store, cipher);
  const kinds = async () =>
    (await directory.lookUp([signing, other].map((id) => aDueAttempt(1, id)))).map(({ kind }) => kind);
  expect(await kinds()).toEqual(['unreadable', 'target']);
  await store.query('update signing_keys set private_ciphertext = $1', [key!.private_ciphertext]);
  expect(await kinds()).toEqual(['target', 'target']);
});

it('an endpoint whose secret cannot be read keeps no other waiting', async () => {
  const cipher = aCipher();
  const written = new EndpointRecords(store, cipher);
  const broken = await anEndpoint(store, orgId, 0, written);
  const other = await anEndpoint(store, orgId, 0, written);
  await store.query(`update endpoints set secret_ciphertext = '\\x0161' where id = $1`, [broken]);
  const directory = new EndpointDirectory(store, cipher);
  const found = await directory.lookUp([broken, other].map((id) => aDueAttempt(1, id)));
  expect(found.map(({ kind }) => kind)).toEqual(['unreadable', 'target']);
  const subscribers = await directory.subscribersOf(new Map([[orgId, { seq: 1 as Seq, offset: 0 }]]));
  const targets = subscribers.get(orgId)!.map(({ id, target }) => [id, target() !== undefined] as const);
  expect(new Map(targets)).toEqual(
    new Map([
      [broken, false],
      [other, true],
    ]),
  );
});

describe('an attempt with followers', () => {
  it.each([
    ['was skipped', `status = 'failed', last_error = 'skipped', next_attempt_at = null`],
    ['was replayed', 'run = 1'],
    ['has had its attempt', 'attempts = 1'],
    ['ended with its endpoint', 'endings = 0'],
  ])('ends before the first one that %s', async (_case, change) => {
    const cipher = aCipher();
    const written = new EndpointRecords(store, cipher);
    const [id, other] = [await anEndpoint(store, orgId, 0, written), await anEndpoint(store, orgId, 0, written)];
    const attempts = [id, other].map((endpointId) => {
      const [head, ...followers] = [1, 2, 3, 4, 5].map((nth) => aDueAttempt(nth, endpointId));
      return { ...head!, followers };
    });
    const { createdAtMs } = attempts[0]!.delivery;
    await new DayPartitions(store).ensure([createdAtMs]);
    await store.query('insert into endpoint_endings (endpoint_id, org_id, endings) values ($1, $2, 1)', [id, orgId]);
    await store.query(
      `insert into deliveries (id, created_at, org_id, endpoint_id, event_id, event_type, seq, run, status, attempts,
         next_attempt_at, endings)
       select d.id, $1::timestamptz, $2, $3, 'evt_' || d.seq, 'ticket.created', d.seq, 0, 'pending', 0, $1::timestamptz, 1
       from unnest($4::text[]) with ordinality as d(id, seq)`,
      [
        new Date(createdAtMs),
        orgId,
        id,
        [attempts[0]!, ...attempts[0]!.followers].map(({ delivery }) => delivery.deliveryId),
      ],
    );
    const directory = new EndpointDirectory(store, cipher);
    const endsBefore = async () =>
      (await directory.lookUp(attempts)).map((found) => (found.kind === 'target' ? found.endsBefore : found.kind));
    expect(await endsBefore()).toEqual([undefined, undefined]);
    await store.query(`update deliveries set ${change} where endpoint_id = $1 and seq in (3, 5)`, [id]);
    expect(await endsBefore()).toEqual([3, undefined]);
  });
});

describe('endpoints with a long client certificate', () => {
  const ENDPOINTS = 50;
  const certificate = { certificate: 'c'.repeat(16_000), private_key: 'k'.repeat(4_000) };
  const headers = { 'x-tenant': 'acme' };
  let ids: EndpointId[];
  let directory: EndpointDirectory;

  beforeEach(async () => {
    const cipher = aCipher();
    const written = new EndpointRecords(store, cipher);
    ids = [];
    for (let nth = 0; nth < ENDPOINTS; nth++) ids.push(await anEndpoint(store, orgId, 0, written));
    await give(ids, cipher.encrypt(JSON.stringify({ headers, auth: null, certificate })));
    // This one has short headers alone.
    await give(ids.slice(-1), cipher.encrypt(JSON.stringify({ headers, auth: null })));
    directory = new EndpointDirectory(store, cipher);
  });

  async function give(to: readonly EndpointId[], ciphertext: Buffer): Promise<void> {
    await store.query(
      `update endpoints set custom_headers_ciphertext = $2, custom_headers_shown = '{"names":["x-tenant"],"auth":null}'
       where id = any($1)`,
      [to, ciphertext],
    );
  }

  /** Returns the bytes of the rows that `act` reads, as the driver hands them out. */
  async function bytesRead(act: () => Promise<void>): Promise<number> {
    const reading = jest.spyOn(store, 'prepared');
    try {
      await act();
      const rows = (await Promise.all(reading.mock.results.map(({ value }) => value))).flat();
      const sizes = rows.flatMap((row) => Object.values(row as Record<string, unknown>)).map((value) => sizeOf(value));
      return sizes.reduce((sum, size) => sum + size, 0);
    } finally {
      reading.mockRestore();
    }
  }

  it('are not read with the subscribers of a batch, and short headers are', async () => {
    const bytes = await bytesRead(async () => {
      const subscribers = await directory.subscribersOf(new Map([[orgId, { seq: 1 as Seq, offset: 0 }]]));
      const targets = new Map(subscribers.get(orgId)?.map(({ id, target }) => [id, target()]));
      expect(targets.size).toBe(ENDPOINTS);
      expect(ids.filter((id) => targets.get(id) !== undefined)).toEqual(ids.slice(-1));
      expect(targets.get(ids.at(-1)!)).toMatchObject({ headers });
    });
    expect(bytes).toBeLessThan(ENDPOINTS * 1_000);
  });

  it('are read once in a look-up, for all of their attempts', async () => {
    const [one, other] = [ids[0]!, ids[1]!];
    const bytes = await bytesRead(async () => {
      const attempts = Array.from({ length: 256 }, (_, nth) => aDueAttempt(nth + 1, nth % 2 === 0 ? one : other));
      const found = await directory.lookUp(attempts);
      expect(found).toHaveLength(256);
      for (const each of found) expect(each).toMatchObject({ kind: 'target', target: { headers, certificate } });
    });
    expect(bytes).toBeGreaterThan(2 * 20_000);
    expect(bytes).toBeLessThan(2 * 20_000 + 256 * 1_000);
  });
});

function sizeOf(value: unknown): number {
  return Buffer.isBuffer(value) ? value.length : JSON.stringify(value ?? null).length;
}
