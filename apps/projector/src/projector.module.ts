import { Module } from '@nestjs/common';
import { KeepDays } from './keep-days.js';
import { ProjectDeliveriesHandler } from './project-deliveries.handler.js';
import { ProjectFeedHandler } from './project-feed.handler.js';
import { TailCheck } from './tail-check.js';

@Module({
  controllers: [ProjectFeedHandler, ProjectDeliveriesHandler],
  providers: [KeepDays, TailCheck],
  exports: [TailCheck],
})
export class ProjectorModule {}
