import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { IdempotencyModule } from '../idempotency/idempotency.module.js';
import { RateLimitsModule } from '../rate-limits/rate-limits.module.js';
import { AnswersInTurn } from './answers/answers-in-turn.js';
import { CheckedIds } from './ids/checked-ids.js';
import { FeedFollower } from './feed-follower.js';
import { FeedHeads } from './feed-heads.js';
import { GetEventController } from './get-event.controller.js';
import { IngestEventsController } from './ingest/ingest-events.controller.js';
import { IngestLag } from './ids/ingest-lag.js';
import { OpenStreams } from './streams/open-streams.js';
import { ReadFeedController } from './read-feed.controller.js';
import { RequestTraces } from './ingest/request-traces.js';
import { SharedReads } from './shared-reads.js';
import { StreamPages } from './streams/stream-pages.js';
import { StreamRoom } from './streams/stream-room.js';

@Module({
  imports: [AuthModule, IdempotencyModule, RateLimitsModule],
  controllers: [GetEventController, IngestEventsController, ReadFeedController],
  providers: [
    AnswersInTurn,
    CheckedIds,
    FeedFollower,
    FeedHeads,
    IngestLag,
    OpenStreams,
    RequestTraces,
    SharedReads,
    StreamPages,
    StreamRoom,
  ],
  exports: [AnswersInTurn, CheckedIds, FeedFollower, FeedHeads, OpenStreams, RequestTraces, SharedReads, StreamPages],
})
export class EventsModule {}
