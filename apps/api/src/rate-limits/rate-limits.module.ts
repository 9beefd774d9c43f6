import { Module } from '@nestjs/common';
import { IngestPace } from './ingest-pace.js';
import { RateLimits } from './rate-limits.js';

@Module({ providers: [IngestPace, RateLimits], exports: [IngestPace, RateLimits] })
export class RateLimitsModule {}
