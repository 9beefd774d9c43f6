import { Module } from '@nestjs/common';
import { ownAppender } from '#libs/platform';
import { DispatchAttemptsHandler } from './dispatch-attempts.handler.js';
import { Dispatcher } from './dispatcher.js';
import { ForwardRetriesHandler } from './forward-retries.handler.js';
import { destination } from './destination.provider.js';
import { ReconcilePending } from './reconcile-pending.js';

@Module({
  controllers: [DispatchAttemptsHandler, ForwardRetriesHandler],
  providers: [ownAppender, destination, Dispatcher, ReconcilePending],
})
export class DispatcherModule {}
