import { Module, type DynamicModule, type Provider } from '@nestjs/common';
import type { EventFilters } from '#libs/domain';
import { ApiKeyRecords } from './access/api-key-records.js';
import { AuditLog } from './access/audit-log.js';
import { DashboardSessionRecords } from './access/dashboard-session-records.js';
import { IdempotencyRecords } from './access/idempotency-records.js';
import { PortalSessionRecords } from './access/portal-session-records.js';
import { SecretCipher } from './access/secret-cipher.js';
import { SigningKeys } from './access/signing-keys.js';
import { Store } from './connection/store.js';
import { DeliveryLog } from './deliveries/delivery-log.js';
import { EventAnswers } from './deliveries/event-answers.js';
import { OrderedDeliveries } from './deliveries/ordered-deliveries.js';
import { PreviousSeqs } from './deliveries/previous-seqs.js';
import { OverdueDeliveries } from './deliveries/overdue-deliveries.js';
import { RecoveryRecords } from './deliveries/recoveries/recovery-records.js';
import { RecoverySource } from './deliveries/recoveries/recovery-source.js';
import { EndpointDirectory } from './endpoints/endpoint-directory.js';
import { EndpointHealthReader } from './endpoints/endpoint-health-reader.js';
import { EndpointRecords } from './endpoints/endpoint-records.js';
import { PacedOwners } from './deliveries/paced-owners.js';
import { EndpointVersions } from './endpoints/endpoint-versions.js';
import { InactivePeriods } from './endpoints/inactive-periods.js';
import { PacedEndpoints } from './endpoints/paced-endpoints.js';
import { FeedLists } from './feed-lists/feed-lists.js';
import { FeedAudit } from './feed/feed-audit.js';
import { FeedCursors } from './feed/feed-cursors.js';
import { FeedReader } from './feed/reading/feed-reader.js';
import { DashboardFigures } from './figures/dashboard-figures.js';
import { AlertClaims } from './live-chat/alert-claims.js';
import { AlertMails } from './live-chat/alert-mails.js';
import { AlertOutbox } from './live-chat/alert-outbox.js';
import { ChatQueueProjection } from './live-chat/chat-queue-projection.js';
import { ChatQueueReader } from './live-chat/chat-queue-reader.js';
import { LiveChatSettingsRecords } from './live-chat/live-chat-settings-records.js';
import { McpSubscriptions } from './mcp/mcp-subscriptions.js';
import { McpUpkeep } from './mcp/mcp-upkeep.js';
import { OperationalOutbox } from './operations/operational-outbox.js';
import { OrgRecords } from './orgs/org-records.js';
import { OrgStatistics } from './orgs/org-statistics.js';
import { Backlogs } from './projections/backlogs/backlogs.js';
import { DayPartitions } from './projections/days/day-partitions.js';
import { EndpointCounts } from './projections/endpoint-counts.js';
import { RouterPlaces } from './deliveries/router-places.js';

const OVER_THE_STORE: readonly (new (store: Store) => object)[] = [
  AlertClaims,
  AlertMails,
  AlertOutbox,
  ApiKeyRecords,
  AuditLog,
  Backlogs,
  ChatQueueProjection,
  ChatQueueReader,
  DashboardFigures,
  DashboardSessionRecords,
  DayPartitions,
  DeliveryLog,
  EndpointCounts,
  EndpointHealthReader,
  EndpointVersions,
  FeedAudit,
  FeedCursors,
  FeedLists,
  InactivePeriods,
  LiveChatSettingsRecords,
  OrgRecords,
  OrgStatistics,
  OrderedDeliveries,
  PreviousSeqs,
  OverdueDeliveries,
  PacedEndpoints,
  PacedOwners,
  PortalSessionRecords,
  RecoveryRecords,
  RouterPlaces,
];
const WITH_SECRETS: readonly (new (store: Store, cipher: SecretCipher) => object)[] = [
  EndpointDirectory,
  EndpointRecords,
  IdempotencyRecords,
  OperationalOutbox,
  SigningKeys,
];

/** The objects that the classes of this lib are made from. */
export interface PostgresParts {
  readonly store: Store;
  readonly cipher: SecretCipher;
  readonly retentionMs: number;
  readonly filters: EventFilters;
}

/**
 * Provides the classes that read and write Postgres, once for each process. The projector itself makes the projections
 * of the feed and the delivery log, because it passes callbacks to them.
 */
@Module({})
export class PostgresModule {
  static over({ store, cipher, retentionMs, filters }: PostgresParts): DynamicModule {
    const providers: readonly Provider[] = [
      { provide: Store, useValue: store },
      { provide: SecretCipher, useValue: cipher },
      ...OVER_THE_STORE.map((one) => ({ provide: one, useValue: new one(store) })),
      ...WITH_SECRETS.map((one) => ({ provide: one, useValue: new one(store, cipher) })),
      {
        provide: EventAnswers,
        useValue: new EventAnswers(new EndpointVersions(store), new DeliveryLog(store), filters),
      },
      { provide: FeedReader, useValue: new FeedReader(store, retentionMs) },
      ...[McpSubscriptions, McpUpkeep].map((one) => ({ provide: one, useValue: new one(store, cipher, filters) })),
      { provide: RecoverySource, useValue: new RecoverySource(store, retentionMs, filters) },
    ];
    return { module: PostgresModule, global: true, providers: [...providers], exports: [...providers] };
  }
}
