import { Module } from '@nestjs/common';
import { KafkaConnection, LogPositions } from '#libs/kafka-log';
import { ownAppender } from '#libs/platform';
import { DispatchAttemptsHandler } from './attempts/dispatch-attempts.handler.js';
import { Dispatcher } from './dispatcher.js';
import { ForwardRetriesHandler } from './attempts/forward-retries.handler.js';
import { destination } from './destination.provider.js';
import { ReconcilePending } from './reconciling/reconcile-pending.js';
import { RouteLogHandler } from './routing/route-log.handler.js';
import { RoutedPlaces } from './routing/routed-places.js';
import { RouterPositions } from './routing/router-positions.js';

@Module({
  controllers: [RouteLogHandler, DispatchAttemptsHandler, ForwardRetriesHandler],
  providers: [
    ownAppender,
    destination,
    Dispatcher,
    ReconcilePending,
    RoutedPlaces,
    RouterPositions,
    {
      provide: LogPositions,
      useFactory: (connection: KafkaConnection) => new LogPositions(connection),
      inject: [KafkaConnection],
    },
  ],
})
export class DispatcherModule {}
