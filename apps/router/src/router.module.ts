import { Module } from '@nestjs/common';
import { RouteLogHandler } from './route-log.handler.js';

@Module({ controllers: [RouteLogHandler] })
export class RouterModule {}
