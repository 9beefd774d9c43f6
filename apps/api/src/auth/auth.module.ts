import { Module } from '@nestjs/common';
import { Callers } from '../http/callers.js';
import { IdempotencyModule } from '../idempotency/idempotency.module.js';
import { PortalSessions } from '../portal/portal-sessions.js';
import { ApiKeyAuthenticator } from './api-key-authenticator.js';
import { DashboardSessions } from './dashboard-sessions.js';
import { KeyUses } from './key-uses.js';
import { RequestAuthenticator } from './request-authenticator.js';

@Module({
  imports: [IdempotencyModule],
  providers: [KeyUses, ApiKeyAuthenticator, DashboardSessions, PortalSessions, RequestAuthenticator, Callers],
  exports: [ApiKeyAuthenticator, DashboardSessions, PortalSessions, RequestAuthenticator, Callers],
})
export class AuthModule {}
