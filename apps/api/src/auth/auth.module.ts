import { Module } from '@nestjs/common';
import { Callers } from '../http/callers.js';
import { ApiKeyAuthenticator } from './api-key-authenticator.js';
import { DashboardSessions } from './dashboard-sessions.js';
import { KeyUses } from './key-uses.js';
import { RequestAuthenticator } from './request-authenticator.js';

@Module({
  providers: [KeyUses, ApiKeyAuthenticator, DashboardSessions, RequestAuthenticator, Callers],
  exports: [ApiKeyAuthenticator, DashboardSessions, RequestAuthenticator, Callers],
})
export class AuthModule {}
