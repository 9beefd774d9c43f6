import { Module } from '@nestjs/common';
import { ownAppender } from '#libs/platform';
import { DispatchAttemptsHandler } from './dispatch-attempts.handler.js';
import { Dispatcher } from './dispatcher.js';
import { ForwardRetriesHandler } from './forward-retries.handler.js';
import { pushClient } from './push-client.provider.js';
import { ReconcilePending } from './reconcile-pending.js';

@Module({
  controllers: [DispatchAttemptsHandler, ForwardRetriesHandler],
  providers: [ownAppender, pushClient, Dispatcher, ReconcilePending],
})
export class DispatcherModule {}
