import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  decideAlerts,
  DEFAULT_LIVE_CHAT_SETTINGS,
  deliveryIdOf,
  systemClock,
  type EventId,
  type OrgId,
  type Seq,
} from '#libs/domain';
import { CelFilters } from '#libs/event-filter';
import { Identifiers } from '#libs/runtime';
import { handedOff } from '../../../../../test/support/conversations.js';
import { anOrgId } from '../../../../../test/support/ids.js';
import { AlertClaims } from '../../live-chat/alert-claims.js';
import { ApiKeyRecords } from '../../access/api-key-records.js';
import { ChatQueueProjection } from '../../live-chat/chat-queue-projection.js';
import { DeliveryProjection } from '../../projections/delivery-projection.js';
import { EndpointRecords } from '../../endpoints/endpoint-records.js';
import { FeedCursors } from '../../feed/feed-cursors.js';
import { FeedProjection } from '../../projections/feed-projection.js';
import { LiveChatSettingsRecords } from '../../live-chat/live-chat-settings-records.js';
import { RecoveryRecords } from '../../deliveries/recoveries/recovery-records.js';
import { McpSubscriptions } from '../../mcp/mcp-subscriptions.js';
import { OrgRecords } from '../../orgs/org-records.js';
import { OrgStatistics } from '../../orgs/org-statistics.js';
import type { Store } from '../store.js';
import { aCipher, aTestStore } from '../../testing/a-test-store.js';
import { anEndpoint } from '../../testing/an-endpoint.js';

const CREATED_AT_MS = Date.UTC(2026, 5, 1, 12);

let store: Store;
let drop: () => Promise<void>;
let tables: readonly string[];
const [orgA, orgB] = [anOrgId(), anOrgId()];

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  for (const [partition, orgId] of [orgA, orgB].entries()) await fill(orgId, partition);
  const rows = await store.query<{ name: string }>(
    `select distinct table_name as name from information_schema.columns
     where table_schema = 'public' and column_name = 'org_id' and table_name !~ '_\\d{8}$'
       -- The tenant sees two columns of the first, and can only add to the second.
       and table_name not in ('portal_sessions', 'operational_events') order by 1`,
  );
  tables = rows.map(({ name }) => name);
});

afterAll(async () => {
  await drop();
});

/** A row of the org in every table. */
async function fill(orgId: OrgId, partition: number): Promise<void> {
  const endpointId = await anEndpoint(store, orgId);
  const eventId = 'evt_00000000000000000000000001' as EventId;
  const seq = 1 as Seq;
  await new FeedProjection(store).apply(
    { projection: 'feed', topic: 'log', partition, firstOffset: 0, nextOffset: 1 },
    [
      {
        offset: 0,
        orgId,
        seq,
        id: eventId,
        event: 'ticket.created',
        widgetId: null,
        appendedAtMs: CREATED_AT_MS,
        envelope: Buffer.from('{}'),
      },
    ],
  );
  const delivery = {
    deliveryId: deliveryIdOf(eventId, endpointId),
    endpointId,
    orgId,
    eventId,
    event: 'ticket.created',
    seq,
    createdAtMs: CREATED_AT_MS,
  };
  await new DeliveryProjection(store, 20).apply(
    { projection: 'deliveries', topic: 'deliveries', partition, firstOffset: 0, nextOffset: 2 },
    [
      {
        offset: 0,
        fact: {
          type: 'attempted',
          delivery,
          run: 0,
          attempt: 1,
          activation: 1,
          startedAtMs: CREATED_AT_MS,
          durationMs: 1,
          responseStatus: 200,
          error: null,
          responseExcerpt: null,
          next: 'delivered',
          nextAttemptAtMs: null,
        },
      },
      { offset: 1, fact: { type: 'endpoint_disabled', endpointId, orgId, activation: 1, atMs: CREATED_AT_MS } },
    ],
  );
  const records = new EndpointRecords(store, aCipher());
  await records.update(orgId, endpointId, { isActive: { becomes: false, logEnd: 0 } }, new Date(CREATED_AT_MS), () =>
    Promise.resolve(),
  );
  await records.delete(orgId, await anEndpoint(store, orgId));
  await aChatWithAnAlert(orgId, partition);
  await new FeedCursors(store).move(orgId, {
    name: 'billing',
    seq: 1 as Seq,
    expected: undefined,
    at: new Date(CREATED_AT_MS),
    limit: 1,
  });
  const at = new Date(CREATED_AT_MS);
  const range = { sinceSeq: 0 as Seq, since: null, until: null, throughSeq: null };
  await new RecoveryRecords(store).begin(
    new Identifiers(systemClock).recoveryId(),
    { orgId, endpointId, kinds: ['failed'], range },
    randomUUID(),
    { at, limit: 1 },
  );
  const url = 'https://agent.example/';
  const subscriptions = new McpSubscriptions(store, aCipher(), new CelFilters());
  await subscriptions.verified(orgId, 'gk_1', url, at);
  await subscriptions.subscribe(
    {
      id: `sub_${orgId}`,
      orgId,
      endpointId: new Identifiers(systemClock).endpointId(),
      keyId: 'gk_1',
      url,
      name: 'ticket.created',
      arguments: {},
      widgetId: null,
      filter: null,
      secret: 'whsec_',
      grantedUntil: null,
      since: 1 as Seq,
      at,
      overlapsUntil: at,
      keptSince: at,
    },
    1,
  );
  await new OrgRecords(store).put(orgId, { name: 'Acme', widgets: [], metadata: {} }, at);
  const today = { startMs: Date.UTC(2026, 5, 1), count: 1, settledMs: 0 };
  await new OrgStatistics(store).byDay(orgId, today, () => 0);
  await new ApiKeyRecords(store).create({
    id: new Identifiers(systemClock).apiKeyId(),
    orgId,
    scopes: ['events:read'],
    secret: Buffer.alloc(32, partition),
    createdAt: new Date(CREATED_AT_MS),
    expiresAt: null,
  });
}

/** A conversation that waits, and an alert of it, by settings of the org's own. */
async function aChatWithAnAlert(orgId: OrgId, partition: number): Promise<void> {
  await new LiveChatSettingsRecords(store).replace(orgId, DEFAULT_LIVE_CHAT_SETTINGS, new Date(CREATED_AT_MS));
  await new ChatQueueProjection(store).apply(
    { projection: 'alerting', topic: 'log', partition, firstOffset: 0, nextOffset: 1 },
    [{ ...handedOff({ orgId }), offset: 0 }],
  );
  const claims = new AlertClaims(store);
  const nowMs = CREATED_AT_MS + 3_600_000;
  const [due] = (await claims.due([partition], nowMs, 10)).queues;
  const alerts = decideAlerts(due!.queue, due!.settings, nowMs).slice(0, 1);
  await claims.claim([{ waiting: due!.queue.waiting[0]!, partition, alerts, mails: false }]);
}

describe('row-level security', () => {
  it('is about every table of orgs, each of which holds rows of both', async () => {
    expect(tables).toEqual([
      'alerts',
      'api_keys',
      'audit_log',
      'chat_queues',
      'deleted_endpoints',
      'deliveries',
      'delivery_attempts',
      'endpoint_endings',
      'endpoint_health',
      'endpoint_inactive_periods',
      'endpoint_versions',
      'endpoints',
      'events',
      'feed_cursors',
      'feed_days',
      'live_chat_settings',
      'mcp_subscriptions',
      'mcp_verified_callbacks',
      'org_days',
      'org_heads',
      'orgs',
      'recoveries',
      'waiting_conversations',
    ]);
    for (const table of tables) {
      const rows = await store.query<{ org_id: OrgId }>(`select distinct org_id from ${table}`);
      expect([table, rows.map((row) => row.org_id).sort()]).toEqual([table, [orgA, orgB].sort()]);
    }
  });

  it('shows the tenant no rows of any table while no org is set', async () => {
    await store.transaction(async (runner) => {
      await runner.query('set local role gapless_tenant');
      for (const table of tables) {
        expect([table, await runner.query(`select org_id from ${table}`)]).toEqual([table, []]);
      }
      await runner.query(`set local gapless.org_id = ''`);
      for (const table of tables) {
        expect([table, await runner.query(`select org_id from ${table}`)]).toEqual([table, []]);
      }
    });
  });

  it("shows the tenant its org's rows alone", async () => {
    for (const orgId of [orgA, orgB]) {
      await store.forOrg(orgId, async (runner) => {
        for (const table of tables) {
          expect([table, await runner.query(`select distinct org_id from ${table}`)]).toEqual([
            table,
            [{ org_id: orgId }],
          ]);
        }
      });
    }
  });

  it("lets the tenant change and delete nothing of another org, and add nothing in another's name", async () => {
    await store.forOrg(orgA, async (runner) => {
      // Entries are only added.
      for (const table of tables.filter((name) => name !== 'audit_log')) {
        const [changed] = (await runner.query(
          `with changed as (update ${table} set org_id = org_id where org_id = $1 returning 1)
           select count(*)::int as count from changed`,
          [orgB],
        )) as { count: number }[];
        expect([table, changed]).toEqual([table, { count: 0 }]);
      }
    });
    await expect(
      store.forOrg(orgA, (runner) =>
        runner.query('insert into org_heads (org_id, last_seq) values ($1, 1)', [anOrgId()]),
      ),
    ).rejects.toThrow(/row-level security/);
    await expect(
      store.forOrg(orgA, (runner) => runner.query('update endpoints set org_id = $1', [orgB])),
    ).rejects.toThrow(/row-level security/);
  });

  it('lets the tenant note what happened to endpoints of its org alone, and read nothing of it', async () => {
    const note = (orgId: OrgId) =>
      store.forOrg(orgA, (runner) =>
        runner.query(
          `insert into operational_events (id, org_id, endpoint_id, event, occurred_at, due_at, data)
           values ($1::text, $1::text::uuid, 'whe_1', 'endpoint.enabled', now(), now(), '{}')`,
          [orgId],
        ),
      );
    await note(orgA);
    await expect(note(orgB)).rejects.toThrow(/row-level security/);
    for (const act of ['select 1 from', 'delete from']) {
      await expect(store.forOrg(orgA, (runner) => runner.query(`${act} operational_events`))).rejects.toThrow(
        /permission denied/,
      );
    }
  });

  it('is over with the transaction: the connection belongs to all orgs again', async () => {
    await store.forOrg(orgA, () => Promise.resolve());
    await expect(store.forOrg(orgB, () => Promise.reject(new Error('the request failed')))).rejects.toThrow(
      'the request failed',
    );
    const rows = await Promise.all(Array.from({ length: 20 }, () => store.query('select 1 from endpoints')));
    expect(new Set(rows.map((found) => found.length))).toEqual(new Set([4]));
  });

  it('lets the tenant see which portal sessions its org has, and nothing else of them', async () => {
    const keyId = 'gk_of_portal';
    await store.query(`insert into api_keys (id, scopes, secret_sha256, created_at) values ($1, '{}', '', now())`, [
      keyId,
    ]);
    for (const orgId of [orgA, orgB]) {
      await store.query(
        `insert into portal_sessions (id, org_id, api_key_id, link_sha256, scopes, created_at, link_expires_at, expires_at)
         values ($1::text, $1::text::uuid, $2, convert_to($1::text, 'UTF8'), '{}', now(), now(), now())`,
        [orgId, keyId],
      );
    }
    const seen = await store.forOrg(
      orgA,
      (runner) => runner.query('select id from portal_sessions') as Promise<unknown>,
    );
    expect(seen).toEqual([{ id: orgA }]);
    for (const act of ['select token_sha256 from', 'delete from', 'update portal_sessions set id = id --']) {
      await expect(store.forOrg(orgA, (runner) => runner.query(`${act} portal_sessions`))).rejects.toThrow(
        /permission denied/,
      );
    }
  });

  it('hides the days of partitioned tables and what belongs to no org', async () => {
    for (const table of ['events_20260601', 'deliveries_20260601', 'projection_offsets', 'idempotency_keys']) {
      await expect(store.forOrg(orgA, (runner) => runner.query(`select 1 from ${table}`))).rejects.toThrow(
        /permission denied/,
      );
    }
  });
});
