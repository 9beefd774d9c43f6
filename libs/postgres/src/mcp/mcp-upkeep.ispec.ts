import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { EndpointId, OrgId, Seq } from '#libs/domain';
import { CelFilters } from '#libs/event-filter';
import { anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { EndpointRecords } from '../endpoints/endpoint-records.js';
import { DayPartitions } from '../projections/days/day-partitions.js';
import { aCipher, aTestStore } from '../testing/a-test-store.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { indexScans } from '../testing/index-entries-read.js';
import { McpSubscriptions } from './mcp-subscriptions.js';
import { McpUpkeep } from './mcp-upkeep.js';

const DAY_MS = 86_400_000;
const FIRST_MS = Date.UTC(2026, 5, 1);
const DAYS = 20;
const KEPT_SINCE = new Date(FIRST_MS);
const CIPHER = aCipher();

let store: Store;
let drop: () => Promise<void>;
let upkeep: McpUpkeep;
let orgId: OrgId;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  upkeep = new McpUpkeep(store, CIPHER, new CelFilters());
  orgId = anOrgId();
  const days = Array.from({ length: DAYS }, (_, day) => FIRST_MS + day * DAY_MS);
  await new DayPartitions(store).ensure(days);
  // An event a day, of a type that nobody receives.
  await store.query(
    `insert into events (org_id, seq, appended_at, event_id, event_type, envelope)
     select $1, n, $2::timestamptz + (n - 1) * interval '24 hours', 'evt_' || lpad(n::text, 26, '0'), 'ticket.deleted', '{}'
     from generate_series(1, $3::int) n`,
    [orgId, new Date(FIRST_MS), DAYS],
  );
  await store.query('insert into org_heads (org_id, last_seq) values ($1, $2)', [orgId, DAYS]);
});

afterAll(() => drop());

async function aSubscription(id: string, watermark: number): Promise<EndpointId> {
  const endpointId = await anEndpoint(store, orgId, 0, new EndpointRecords(store, CIPHER));
  await store.query(
    `insert into mcp_subscriptions (id, org_id, endpoint_id, key_id, url, name, arguments, created_at, refreshed_at,
       resumed_at, watermark_seq, caught_up_seq)
     values ($1, $2, $3, 'gk_1', 'https://example.com', 'ticket.created', '{}', now(), now(), now(), $4, $4)`,
    [id, orgId, endpointId, watermark],
  );
  return endpointId;
}

async function watermarks(): Promise<readonly string[]> {
  const rows = await store.query<{ seq: string }>('select watermark_seq as seq from mcp_subscriptions order by id');
  return rows.map(({ seq }) => seq);
}

it('a subscription whose watermark cannot move leaves those of others to move', async () => {
  for (const id of ['sub_1', 'sub_2', 'sub_3']) await aSubscription(id, 0);
  await store.query(`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`);
  await store.query(
    `create trigger refuse before update on mcp_subscriptions for each row when (old.id = 'sub_2') execute function refuse()`,
  );
  const errors: unknown[] = [];
  expect(await upkeep.advance(KEPT_SINCE, (error) => errors.push(error), 1)).toBe(0);
  expect(errors.map(String)).toEqual([expect.stringContaining('refused')]);
  expect(await watermarks()).toEqual([String(DAYS), '0', String(DAYS)]);
  await store.query('drop trigger refuse on mcp_subscriptions');
  await upkeep.advance(KEPT_SINCE, (error) => errors.push(error), 1);
  expect([errors.length, await watermarks()]).toEqual([1, [DAYS, DAYS, DAYS].map(String)]);
});

it('a watermark moves without a search in the days before it', async () => {
  await store.query('update mcp_subscriptions set watermark_seq = $1', [DAYS - 1]);
  const scans = await indexScans(store, orgId, 'events', async () => {
    await upkeep.advance(KEPT_SINCE, (error) => {
      throw error;
    });
    await store.query('select pg_stat_force_next_flush()');
  });
  expect(await watermarks()).toEqual([DAYS, DAYS, DAYS].map(String));
  // For each subscription: whether its next event is kept, and the next one of its type.
  expect(scans).toBeLessThanOrEqual(6);
});

it('a watermark passes events that retention has removed, and says so', async () => {
  await store.query('update mcp_subscriptions set watermark_seq = 3');
  const keptSince = new Date(FIRST_MS + 5 * DAY_MS);
  const errors: unknown[] = [];
  expect(await upkeep.advance(keptSince, (error) => errors.push(error))).toBe(3);
  expect(errors).toEqual([]);
  expect(await store.query('select distinct gap_seq, watermark_seq from mcp_subscriptions')).toEqual([
    { gap_seq: '5', watermark_seq: String(DAYS) },
  ]);
});

describe('a verified callback', () => {
  const isRemembered = async () => {
    await upkeep.expire();
    return (await store.query('select from mcp_verified_callbacks')).length > 0;
  };
  const makeOld = () =>
    store.query(`update mcp_verified_callbacks set verified_at = verified_at - interval '25 hours'`);

  beforeEach(async () => {
    await store.query('delete from mcp_subscriptions');
    const endpointId = await aSubscription('sub_1', 0);
    await store.query(`update endpoints set kind = 'mcp' where id = $1`, [endpointId]);
    await store.query('delete from mcp_verified_callbacks');
    const callbacks = new McpSubscriptions(store, CIPHER, new CelFilters());
    await callbacks.verified(orgId, 'gk_1', 'https://example.com', new Date());
    await makeOld();
  });

  it.each([
    ['has expired', () => store.query(`update mcp_subscriptions set granted_until = now()`)],
    [
      'is unsubscribed',
      () => new McpSubscriptions(store, CIPHER, new CelFilters()).unsubscribe(orgId, 'sub_1', new Date()),
    ],
  ])('is forgotten a day after its last subscription, which %s', async (_case, end) => {
    expect(await isRemembered()).toBe(true);
    await end();
    expect(await isRemembered()).toBe(true);
    expect(await store.query('select from mcp_subscriptions')).toEqual([]);
    await makeOld();
    expect(await isRemembered()).toBe(false);
  });
});

describe('the message that a subscription has ended', () => {
  const WAITS_MS = [10_000, 60_000, 300_000, 30_000];
  const end = (ids: readonly string[]) =>
    store.query(
      `update mcp_subscriptions set ended_at = now(), ended_error = '{"code":-32024,"message":"Forbidden","data":{}}',
         notice_id = null, notice_attempts = 0, notice_due_at = now() where id = any($1)`,
      [ids],
    );
  const unreadable: string[] = [];
  const claim = async () => {
    const notices = await upkeep.claimNotices(WAITS_MS, (_error, id) => unreadable.push(id));
    return notices.map(({ subscriptionId, attempt, secrets }) => [subscriptionId, attempt, secrets.length]);
  };
  /** Makes the next attempt due. @returns how long it would have waited, milliseconds */
  const skipWait = async (id: string) => {
    const [row] = await store.query<{ due_at: Date }>(
      'select notice_due_at as due_at from mcp_subscriptions where id = $1',
      [id],
    );
    await store.query('update mcp_subscriptions set notice_due_at = now() where id = $1', [id]);
    return row!.due_at.getTime() - Date.now();
  };

  beforeEach(() => store.query('delete from mcp_subscriptions'));

  it('waits after each attempt, also after the last one', async () => {
    await aSubscription('sub_ended', 0);
    await end(['sub_ended']);
    for (const [nth, waitMs] of [...WAITS_MS, 30_000].entries()) {
      expect(await claim()).toEqual([['sub_ended', nth + 1, nth < WAITS_MS.length ? 1 : 0]]);
      expect(await claim()).toEqual([]);
      expect(await skipWait('sub_ended')).toBeGreaterThan(waitMs - 8_000);
    }
  });

  it('goes to others, however many secrets cannot be read, and is given up in the end', async () => {
    const endpointId = await aSubscription('sub_unreadable', 0);
    await aSubscription('sub_ended', 0);
    await store.query(`update endpoints set secret_ciphertext = '\\x00' where id = $1`, [endpointId]);
    await end(['sub_unreadable', 'sub_ended']);
    expect(await claim()).toEqual([['sub_ended', 1, 1]]);
    expect(await claim()).toEqual([]);
    expect(unreadable).toEqual(['sub_unreadable']);
    for (let nth = 2; nth <= WAITS_MS.length; nth++) {
      await skipWait('sub_unreadable');
      expect(await claim()).toEqual([]);
    }
    await skipWait('sub_unreadable');
    expect(await claim()).toEqual([['sub_unreadable', 5, 0]]);
    expect(unreadable).toHaveLength(4);
  });
});

describe('an event whose delivery ended with a suspension', () => {
  const SEQ = 7;
  const createdAt = new Date(FIRST_MS + (SEQ - 1) * DAY_MS);
  const watermark = async () => (await watermarks())[0];
  const advance = () =>
    upkeep.advance(KEPT_SINCE, (error) => {
      throw error;
    });

  /** A subscription that was refreshed and caught up while the delivery of its only event was pending. */
  async function aCaughtUpSubscription(): Promise<EndpointId> {
    const endpointId = await aSubscription('sub_1', 0);
    await store.query(
      `update mcp_subscriptions set name = 'ticket.reply', caught_up_seq = $1, catch_up_offset = 1, catch_up_to_seq = $1`,
      [DAYS],
    );
    await store.query(`update events set event_type = 'ticket.reply' where org_id = $1 and seq = $2`, [orgId, SEQ]);
    await store.query(
      `insert into deliveries (id, created_at, org_id, endpoint_id, event_id, event_type, seq, run, status, attempts)
       values ('whd_1', $2, $3, $1, 'evt_1', 'ticket.reply', $4, 0, 'pending', 1)`,
      [endpointId, createdAt, orgId, SEQ],
    );
    await advance();
    return endpointId;
  }

  const becomes = (run: number, status: string, error: string | null) =>
    store.query('update deliveries set run = $1, status = $2, last_error = $3', [run, status, error]);

  beforeAll(() =>
    store.query(
      `insert into api_keys (id, org_id, scopes, secret_sha256, created_at)
       values ('gk_1', $1, '{events:read}', '\\x00', now())`,
      [orgId],
    ),
  );

  beforeEach(async () => {
    await store.query('delete from mcp_subscriptions');
    await store.query('delete from deliveries');
  });

  it('is caught up again, once for each run, until it is delivered', async () => {
    await aCaughtUpSubscription();
    expect(await upkeep.catchUpAgain(0)).toBe(0);
    await becomes(0, 'failed', 'endpoint_disabled');
    await advance();
    expect([await watermark(), await upkeep.late()]).toEqual([String(SEQ - 1), []]);
    expect(await upkeep.catchUpAgain(0)).toBe(1);

    const [late] = await upkeep.late();
    expect(late).toMatchObject({ caughtUpSeq: SEQ - 1, catchUpOffset: null, catchUpToSeq: null });
    const events = await upkeep.lateEvents({ ...late!, catchUpToSeq: DAYS as Seq }, KEPT_SINCE, 10);
    expect(events).toMatchObject([
      { seq: SEQ, delivery: { run: 0, status: 'failed', lastError: 'endpoint_disabled' } },
    ]);
    // Caught up, but the projector has not stored the next run.
    const catchUp = () => store.query('update mcp_subscriptions set caught_up_seq = $1, catch_up_to_seq = $1', [DAYS]);
    await catchUp();
    expect(await upkeep.catchUpAgain(0)).toBe(0);

    await becomes(1, 'failed', 'endpoint_disabled');
    expect(await upkeep.catchUpAgain(0)).toBe(1);
    await catchUp();
    await becomes(2, 'delivered', null);
    expect(await upkeep.catchUpAgain(0)).toBe(0);
    await advance();
    expect(await watermark()).toBe(String(DAYS));
  });

  it('waits for the projector first, and for the end of a suspension', async () => {
    const endpointId = await aCaughtUpSubscription();
    await becomes(0, 'failed', 'endpoint_disabled');
    expect(await upkeep.catchUpAgain(60_000)).toBe(0);
    const setActive = (isActive: boolean) =>
      store.query('update endpoints set is_active = $2, disabled_at = case when not $2 then now() end where id = $1', [
        endpointId,
        isActive,
      ]);
    await setActive(false);
    expect(await upkeep.catchUpAgain(0)).toBe(0);
    await setActive(true);
    await store.query('update api_keys set revoked_at = now()');
    expect(await upkeep.catchUpAgain(0)).toBe(0);
    await store.query('update api_keys set revoked_at = null');
    expect(await upkeep.catchUpAgain(0)).toBe(1);
  });

  it('is caught up again by one of several processes, and the others wait after that', async () => {
    await aCaughtUpSubscription();
    await becomes(0, 'failed', 'endpoint_disabled');
    const [one, other] = [upkeep, new McpUpkeep(store, CIPHER, new CelFilters())];
    const counts = async () => [await one.catchUpAgain(60_000), await other.catchUpAgain(60_000)];
    let nowMs = 1_000_000;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    try {
      expect(await counts()).toEqual([0, 0]);
      nowMs += 60_000;
      expect(await one.catchUpAgain(60_000)).toBe(1);
      // Caught up, but the projector has not stored the next run.
      await store.query(`update mcp_subscriptions set caught_up_seq = $1, catch_up_offset = 2, catch_up_to_seq = $1`, [
        DAYS,
      ]);
      expect(await counts()).toEqual([0, 0]);
      nowMs += 59_999;
      expect(await counts()).toEqual([0, 0]);
      nowMs += 1;
      expect(await counts()).toEqual([0, 1]);
    } finally {
      clock.mockRestore();
    }
  });

  it('is not sent again if its attempts were used up', async () => {
    await aCaughtUpSubscription();
    await becomes(0, 'failed', 'http_status: 500');
    expect(await upkeep.catchUpAgain(0)).toBe(0);
  });
});

describe('a suspension', () => {
  /** A subscription whose latest attempt failed, and whose attempts, newest first, had these outcomes. */
  async function aSubscriptionWith(id: string, outcomes: readonly (readonly [count: number, status: number])[]) {
    const endpointId = await aSubscription(id, 0);
    await store.query(`update mcp_subscriptions set resumed_at = now() - interval '2 hours' where id = $1`, [id]);
    await store.query(
      `insert into endpoint_health (endpoint_id, org_id, activation, failure_count, last_failure_at, last_success_at)
       values ($1, $2, 1, 1, now(), now() - interval '1 second')`,
      [endpointId, orgId],
    );
    const statuses = outcomes.flatMap(([count, status]) => Array.from({ length: count }, () => status));
    await store.query(
      `insert into delivery_attempts (delivery_id, run, attempt, delivery_created_at, org_id, endpoint_id, started_at,
         duration_ms, response_status)
       select 'whd_' || $2 || n, 0, 1, $3, $1, $2, now() - n * interval '100 ms', 1, status
       from unnest($4::int[]) with ordinality as made(status, n)`,
      [orgId, endpointId, new Date(FIRST_MS), statuses],
    );
  }

  it('is decided by the newest thousand attempts of the hour', async () => {
    await store.query('delete from mcp_subscriptions');
    await aSubscriptionWith('sub_failing', [
      [1_000, 500],
      [500, 200],
    ]);
    await aSubscriptionWith('sub_few', [[99, 500]]);
    await aSubscriptionWith('sub_hardly', [[100, 500]]);
    await aSubscriptionWith('sub_recovering', [
      [1, 500],
      [50, 200],
      [3_000, 500],
    ]);
    expect(await upkeep.suspend()).toBe(2);
    const suspended = await store.query(
      `select s.id from mcp_subscriptions s join endpoints e on e.id = s.endpoint_id
       where e.disabled_reason = 'failure_rate' order by s.id`,
    );
    expect(suspended).toEqual([{ id: 'sub_failing' }, { id: 'sub_hardly' }]);
  });
});
