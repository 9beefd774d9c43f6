import { Module } from '@nestjs/common';
import { ownAppender } from '#libs/platform';
import { RouteLogHandler } from './route-log.handler.js';

@Module({ controllers: [RouteLogHandler], providers: [ownAppender] })
export class RouterModule {}
