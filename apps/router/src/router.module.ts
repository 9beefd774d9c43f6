import { Module } from '@nestjs/common';
import { KafkaConnection, LogPositions } from '#libs/kafka-log';
import { ownAppender } from '#libs/platform';
import { LARGE_FROM, RouteLogHandler, ROUTER_LARGE_FROM } from './route-log.handler.js';
import { RoutedPlaces } from './routed-places.js';

@Module({
  controllers: [RouteLogHandler],
  providers: [
    ownAppender,
    RoutedPlaces,
    { provide: ROUTER_LARGE_FROM, useValue: LARGE_FROM },
    {
      provide: LogPositions,
      useFactory: (connection: KafkaConnection) => new LogPositions(connection),
      inject: [KafkaConnection],
    },
  ],
})
export class RouterModule {}
