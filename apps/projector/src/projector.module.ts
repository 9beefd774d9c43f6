import { Module } from '@nestjs/common';
import { ClearBacklogs } from './clear-backlogs.js';
import { KeepDays } from './keep-days.js';
import { MeasureEndpoints } from './measure-endpoints.js';
import { ProjectDeliveriesHandler } from './project-deliveries.handler.js';
import { ProjectFeedHandler } from './project-feed.handler.js';
import { TailCheck } from './tail-check.js';

@Module({
  controllers: [ProjectFeedHandler, ProjectDeliveriesHandler],
  providers: [ClearBacklogs, KeepDays, MeasureEndpoints, TailCheck],
  exports: [TailCheck],
})
export class ProjectorModule {}
