import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { McpController } from './mcp.controller.js';
import { SubscriptionsModule } from './webhooks/subscriptions.module.js';

@Module({ imports: [AuthModule, SubscriptionsModule], controllers: [McpController] })
export class McpModule {}
