import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import {
  ApiKeyRecords,
  AuditLog,
  ChatQueueReader,
  DashboardFigures,
  DashboardSessionRecords,
  DeliveryLog,
  EndpointHealthReader,
  EndpointRecords,
  FeedReader,
  IdempotencyRecords,
  isPostgresAway,
  LiveChatSettingsRecords,
  RecoverySource,
  SecretCipher,
  Store,
} from '#libs/feed-store';
import { ProblemFilter } from '#libs/http-problems';
import { CONFIG, LOGGER } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';
import { AsyncApiController } from './asyncapi/asyncapi.controller.js';
import { CreateApiKeyController } from './api-keys/create-api-key.controller.js';
import { ListApiKeysController } from './api-keys/list-api-keys.controller.js';
import { RevokeApiKeyController } from './api-keys/revoke-api-key.controller.js';
import { AuditPruner } from './audit/audit-pruner.js';
import { ListAuditLogController } from './audit/list-audit-log.controller.js';
import { ApiKeyAuthenticator } from './auth/api-key-authenticator.js';
import { DashboardSessions } from './auth/dashboard-sessions.js';
import { KeyUses } from './auth/key-uses.js';
import { RequestAuthenticator } from './auth/request-authenticator.js';
import { ScopeGuard } from './auth/scope.guard.js';
import { LiveChatAlerts } from './dashboard/live-chat-alerts.js';
import { ProjectionLag } from './dashboard/projection-lag.js';
import { ReadActivityController } from './dashboard/read-activity.controller.js';
import { ReadEventController } from './dashboard/read-event.controller.js';
import { ReadOverviewController } from './dashboard/read-overview.controller.js';
import { ReadSessionController } from './dashboard/read-session.controller.js';
import { ShortMemory } from './dashboard/short-memory.js';
import { SignInController } from './dashboard/sign-in.controller.js';
import { SignOutController } from './dashboard/sign-out.controller.js';
import { WindowCounts } from './dashboard/window-counts.js';
import { ListEventTypesController } from './event-types/list-event-types.controller.js';
import { CheckedIds } from './events/checked-ids.js';
import { StreamRoom } from './events/stream-room.js';
import { IngestLag } from './events/ingest-lag.js';
import { IngestEventsController } from './events/ingest-events.controller.js';
import { PendingIngest } from './events/pending-ingest.js';
import { OpenStreams } from './events/open-streams.js';
import { ReadFeedController } from './events/read-feed.controller.js';
import { GetDeliveryController } from './deliveries/get-delivery.controller.js';
import { ListDeliveriesController } from './deliveries/list-deliveries.controller.js';
import { ProjectedDelivery } from './deliveries/projected-delivery.js';
import { RecoverDeliveriesController } from './deliveries/recover-deliveries.controller.js';
import { ReplayDeliveryController } from './deliveries/replay-delivery.controller.js';
import { RotateSecretController } from './webhooks/rotate-secret.controller.js';
import { TestWebhookController } from './webhooks/test-webhook.controller.js';
import { UpdateWebhookController } from './webhooks/update-webhook.controller.js';
import { FeedFollower } from './events/feed-follower.js';
import { FeedHeads } from './events/feed-heads.js';
import { RequestTraces } from './events/request-traces.js';
import { SharedReads } from './events/shared-reads.js';
import { Idempotency } from './idempotency/idempotency.js';
import { DescribeProblemController } from './http/describe-problem.controller.js';
import { Callers } from './http/callers.js';
import { RefuseParametersGuard } from './http/refuse-parameters.guard.js';
import { OpenApiController } from './openapi/openapi.controller.js';
import { IdempotencyPruner } from './idempotency/idempotency-pruner.js';
import { GetLiveChatSettingsController } from './live-chat/get-live-chat-settings.controller.js';
import { ListAlertsController } from './live-chat/list-alerts.controller.js';
import { ListWaitingConversationsController } from './live-chat/list-waiting-conversations.controller.js';
import { PutLiveChatSettingsController } from './live-chat/put-live-chat-settings.controller.js';
import { EventPace } from './rate-limits/event-pace.js';
import { RateLimits } from './rate-limits/rate-limits.js';
import { CreateWebhookController } from './webhooks/create-webhook.controller.js';
import { DeleteWebhookController } from './webhooks/delete-webhook.controller.js';
import { EndOverlapController } from './webhooks/end-overlap.controller.js';
import { EndpointUrlCheck } from './webhooks/endpoint-url-check.js';
import { LogMoments } from './webhooks/log-moments.js';
import { GetWebhookController } from './webhooks/get-webhook.controller.js';
import { PreviousSecretPruner } from './webhooks/previous-secret-pruner.js';
import { ListWebhooksController } from './webhooks/list-webhooks.controller.js';

function problemFilter(store: Store, logger: Logger): ProblemFilter {
  return new ProblemFilter({
    // Before the first connection, every question is refused without being asked.
    isUnavailable: (error) => isPostgresAway(error) || !store.dataSource.isInitialized,
    report: ({ error, requestId, code }) => {
      const line = { err: error, request_id: requestId, code };
      if (code === 'unavailable') logger.warn(line, 'http.unavailable');
      else logger.error(line, 'http.failed');
    },
  });
}

function idempotencyRecords(store: Store, cipher: SecretCipher): IdempotencyRecords {
  return new IdempotencyRecords(store, cipher);
}

/** The HTTP interface. Its process also needs `createApiAdapter` and `configureApi`. */
@Module({
  controllers: [
    IngestEventsController,
    ReadFeedController,
    CreateWebhookController,
    ListWebhooksController,
    GetWebhookController,
    DeleteWebhookController,
    ListEventTypesController,
    OpenApiController,
    AsyncApiController,
    DescribeProblemController,
    CreateApiKeyController,
    ListApiKeysController,
    ListAuditLogController,
    RevokeApiKeyController,
    UpdateWebhookController,
    RotateSecretController,
    EndOverlapController,
    TestWebhookController,
    ListDeliveriesController,
    GetDeliveryController,
    ReplayDeliveryController,
    RecoverDeliveriesController,
    GetLiveChatSettingsController,
    PutLiveChatSettingsController,
    ListWaitingConversationsController,
    ListAlertsController,
    SignInController,
    ReadSessionController,
    SignOutController,
    ReadOverviewController,
    ReadActivityController,
    ReadEventController,
  ],
  providers: [
    { provide: ApiKeyRecords, useFactory: (store: Store) => new ApiKeyRecords(store), inject: [Store] },
    { provide: DashboardFigures, useFactory: (store: Store) => new DashboardFigures(store), inject: [Store] },
    {
      provide: DashboardSessionRecords,
      useFactory: (store: Store) => new DashboardSessionRecords(store),
      inject: [Store],
    },
    {
      provide: EndpointRecords,
      useFactory: (store: Store, cipher: SecretCipher) => new EndpointRecords(store, cipher),
      inject: [Store, SecretCipher],
    },
    { provide: AuditLog, useFactory: (store: Store) => new AuditLog(store), inject: [Store] },
    AuditPruner,
    { provide: DeliveryLog, useFactory: (store: Store) => new DeliveryLog(store), inject: [Store] },
    {
      provide: RecoverySource,
      useFactory: (store: Store, config: Config) => new RecoverySource(store, config.retentionMs),
      inject: [Store, CONFIG],
    },
    ProjectedDelivery,
    { provide: EndpointHealthReader, useFactory: (store: Store) => new EndpointHealthReader(store), inject: [Store] },
    {
      provide: FeedReader,
      useFactory: (store: Store, config: Config) => new FeedReader(store, config.retentionMs),
      inject: [Store, CONFIG],
    },
    {
      provide: LiveChatSettingsRecords,
      useFactory: (store: Store) => new LiveChatSettingsRecords(store),
      inject: [Store],
    },
    { provide: ChatQueueReader, useFactory: (store: Store) => new ChatQueueReader(store), inject: [Store] },
    KeyUses,
    ApiKeyAuthenticator,
    DashboardSessions,
    RequestAuthenticator,
    Callers,
    LiveChatAlerts,
    ProjectionLag,
    ShortMemory,
    WindowCounts,
    EventPace,
    RateLimits,
    { provide: IdempotencyRecords, useFactory: idempotencyRecords, inject: [Store, SecretCipher] },
    Idempotency,
    IdempotencyPruner,
    IngestLag,
    CheckedIds,
    FeedHeads,
    SharedReads,
    FeedFollower,
    OpenStreams,
    PendingIngest,
    StreamRoom,
    EndpointUrlCheck,
    PreviousSecretPruner,
    LogMoments,
    RequestTraces,
    // In this order: a key without the scope learns nothing more about the operation.
    { provide: APP_GUARD, useClass: ScopeGuard },
    { provide: APP_GUARD, useClass: RefuseParametersGuard },
    { provide: APP_FILTER, useFactory: problemFilter, inject: [Store, LOGGER] },
  ],
})
export class ApiModule {}
