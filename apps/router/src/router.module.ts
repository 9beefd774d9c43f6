import { Module } from '@nestjs/common';
import { KafkaConnection, LogPositions } from '#libs/kafka-log';
import { ownAppender } from '#libs/platform';
import { RouteLogHandler } from './route-log.handler.js';
import { RoutedPlaces } from './routed-places.js';

@Module({
  controllers: [RouteLogHandler],
  providers: [
    ownAppender,
    RoutedPlaces,
    {
      provide: LogPositions,
      useFactory: (connection: KafkaConnection) => new LogPositions(connection),
      inject: [KafkaConnection],
    },
  ],
})
export class RouterModule {}
