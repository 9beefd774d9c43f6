import { Module } from '@nestjs/common';
import { KeepDays } from './keep-days.js';
import { MeasureEndpoints } from './measure-endpoints.js';
import { ProjectDeliveriesHandler } from './project-deliveries.handler.js';
import { ProjectFeedHandler } from './project-feed.handler.js';

@Module({ controllers: [ProjectFeedHandler, ProjectDeliveriesHandler], providers: [KeepDays, MeasureEndpoints] })
export class ProjectorModule {}
