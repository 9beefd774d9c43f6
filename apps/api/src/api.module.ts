import { Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { Store } from '#libs/postgres';
import { ProblemFilter } from './problems/problem-filter.js';
import { LOGGER } from '#libs/platform';
import type { Logger } from '#libs/runtime';
import { ApiKeysModule } from './api-keys/api-keys.module.js';
import { AsyncApiController } from './asyncapi/asyncapi.controller.js';
import { AuditModule } from './audit/audit.module.js';
import { AuthModule } from './auth/auth.module.js';
import { ScopeGuard } from './auth/scope.guard.js';
import { CursorsModule } from './cursors/cursors.module.js';
import { DashboardModule } from './dashboard/dashboard.module.js';
import { DeliveriesModule } from './deliveries/deliveries.module.js';
import { ListEventTypesController } from './event-types/list-event-types.controller.js';
import { EventsModule } from './events/events.module.js';
import { DescribeProblemController } from './http/describe-problem.controller.js';
import { RefuseParametersGuard } from './http/refuse-parameters.guard.js';
import { LiveChatModule } from './live-chat/live-chat.module.js';
import { McpModule } from './mcp/mcp.module.js';
import { OpenApiController } from './openapi/openapi.controller.js';
import { OrgsModule } from './orgs/orgs.module.js';
import { PortalModule } from './portal/portal.module.js';
import { SigningKeySetController } from './webhooks/signing-key-set.controller.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

function problemFilter(store: Store, logger: Logger): ProblemFilter {
  return new ProblemFilter({
    // Until Postgres is connected for the first time, every error means that it is unavailable.
    isUnavailable: (error) => store.isUnavailable(error),
    report: ({ error, requestId, code }) => {
      const line = { err: error, request_id: requestId, code };
      if (code === 'unavailable') logger.warn(line, 'http.unavailable');
      else logger.error(line, 'http.failed');
    },
  });
}

/** The HTTP interface. Its process also needs `createApiAdapter` and `configureApi`. */
@Module({
  imports: [
    ApiKeysModule,
    AuditModule,
    AuthModule,
    CursorsModule,
    DashboardModule,
    DeliveriesModule,
    EventsModule,
    LiveChatModule,
    McpModule,
    OrgsModule,
    PortalModule,
    WebhooksModule,
  ],
  controllers: [
    AsyncApiController,
    DescribeProblemController,
    ListEventTypesController,
    OpenApiController,
    SigningKeySetController,
  ],
  providers: [
    // The scope guard comes first: a key without the scope learns nothing more about the operation.
    { provide: APP_GUARD, useClass: ScopeGuard },
    { provide: APP_GUARD, useClass: RefuseParametersGuard },
    { provide: APP_FILTER, useFactory: problemFilter, inject: [Store, LOGGER] },
  ],
})
export class ApiModule {}
