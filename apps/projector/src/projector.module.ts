import { Module } from '@nestjs/common';
import { ProjectDeliveriesHandler } from './project-deliveries.handler.js';
import { ProjectFeedHandler } from './project-feed.handler.js';

@Module({ controllers: [ProjectFeedHandler, ProjectDeliveriesHandler] })
export class ProjectorModule {}
