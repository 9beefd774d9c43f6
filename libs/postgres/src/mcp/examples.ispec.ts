import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { exampleEventId, type EventId, type InstallationRow, type OrgId, type Seq } from '#libs/domain';
import { CelFilters } from '#libs/event-filter';
import { anEventId, anOrgId } from '../../../../test/support/ids.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { aStore } from '../../../../test/support/store.js';
import { InstallationRows } from '../connection/installation-row.js';
import type { Store } from '../connection/store.js';
import { FeedPlaces } from '../feed-lists/feed-places.js';
import { DayPartitions } from '../projections/days/day-partitions.js';
import { FeedProjection } from '../projections/feed-projection.js';
import { aCipher, aTestDatabase } from '../testing/a-test-store.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { McpUpkeep } from './mcp-upkeep.js';

const AT_MS = Date.UTC(2026, 5, 1, 12);
const KEPT_SINCE = new Date(AT_MS - 3_600_000);
const INSTALLATION: InstallationRow = {
  id: '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001',
  kafkaClusterId: 'cluster',
  topicPrefix: 'gapless',
  partitions: 2,
  createdAt: '2026-03-02T09:00:00.000Z',
  announced: true,
};
/** Real events and examples in turn. The last one is at the head of the feed. */
const EVENTS: readonly EventId[] = [anEventId(), exampleEventId(anEventId()), anEventId(), exampleEventId(anEventId())];

describe.each([1, 2])('an example, with the feed in the last of %d databases', (count) => {
  let databases: readonly Awaited<ReturnType<typeof aTestDatabase>>[];
  let store: Store;
  let upkeep: McpUpkeep;
  let orgId: OrgId;

  beforeAll(async () => {
    databases = await Promise.all(oneTo(count).map(() => aTestDatabase()));
    const databaseUrls = databases.map(({ url }) => url);
    store = aStore(databaseUrls[0]!, { databaseUrls, partitionOf: () => count - 1 });
    await store.open(() => undefined);
    await new InstallationRows(store).create(INSTALLATION, new FeedPlaces(store).ofMain);
    await new FeedPlaces(store).joinAll();
    upkeep = new McpUpkeep(store, aCipher(), new CelFilters());
    orgId = anOrgId();
    await new FeedProjection(store).apply(
      { projection: 'feed', topic: 'log', partition: count - 1, firstOffset: 0, nextOffset: EVENTS.length },
      EVENTS.map((id, offset) => ({
        offset,
        orgId,
        seq: (offset + 1) as Seq,
        id,
        event: 'ticket.created',
        widgetId: null,
        appendedAtMs: AT_MS + offset,
        envelope: Buffer.from('{}'),
      })),
    );
    await new DayPartitions(store).ensure([AT_MS]);
  });

  afterAll(async () => {
    await store.close();
    await Promise.all(databases.map((database) => database.drop()));
  });

  it.each([null, 'true'])('is passed by watermarks and is not caught up, with the filter %s', async (filter) => {
    const endpointId = await anEndpoint(store, orgId);
    await store.query('update endpoints set filter = $2 where id = $1', [endpointId, filter]);
    await store.query(
      `insert into mcp_subscriptions (id, org_id, endpoint_id, key_id, url, name, arguments, created_at, refreshed_at,
         resumed_at, watermark_seq, caught_up_seq, catch_up_offset, catch_up_to_seq)
       values ($1, $2, $1, 'gk_1', 'https://example.com', 'ticket.created', '{}', now(), now(), now(), 0, 0, $3, $3)`,
      [endpointId, orgId, EVENTS.length],
    );
    const late = (await upkeep.late()).find((one) => one.endpointId === endpointId);
    const events = await upkeep.lateEvents(late!, KEPT_SINCE, 10);
    expect(events.map(({ seq }) => seq)).toEqual([1, 3]);
    for (const { eventId, event, seq, createdAtMs } of events) {
      await store.query(
        `insert into deliveries (id, created_at, org_id, endpoint_id, event_id, event_type, seq, run, status, attempts)
         values ($1, $2, $3, $4, $5, $6, $7, 0, 'delivered', 1)`,
        [`whd_${seq}_${endpointId}`, new Date(createdAtMs), orgId, endpointId, eventId, event, seq],
      );
    }
    await upkeep.advance(KEPT_SINCE, (error) => {
      throw error;
    });
    const rows = 'select watermark_seq as seq, gap_seq from mcp_subscriptions where endpoint_id = $1';
    expect(await store.query(rows, [endpointId])).toEqual([{ seq: String(EVENTS.length), gap_seq: null }]);
  });
});
