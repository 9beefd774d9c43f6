import { Controller, Get, Header, Inject, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Clock, OrgId } from '#libs/domain';
import { FeedReader } from '#libs/feed-store';
import { CLOCK } from '#libs/platform';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { feedPageHeaders, feedPageJson } from './feed-page.presenter.js';
import { parseFeedQuery } from './feed-query.js';

/** `GET /external/events`: the pull feed (spec 4.1, 4.2). */
@Controller('api/v1/external/events')
export class ReadFeedController {
  constructor(
    private readonly feed: FeedReader,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @RequireScope('events:read')
  @Header('content-type', 'application/json; charset=utf-8')
  async read(
    @OrgOfKey() orgId: OrgId,
    @Query() query: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string> {
    const page = await this.feed.page(orgId, parseFeedQuery(query), this.clock.now());
    reply.headers(feedPageHeaders(page));
    return feedPageJson(page);
  }
}
