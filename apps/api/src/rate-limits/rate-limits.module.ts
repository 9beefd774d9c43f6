import { Module } from '@nestjs/common';
import { EventPace } from './event-pace.js';
import { RateLimits } from './rate-limits.js';

@Module({ providers: [EventPace, RateLimits], exports: [EventPace, RateLimits] })
export class RateLimitsModule {}
