import { Readable } from 'node:stream';
import { Controller, Get, Query, Req, Res, StreamableFile } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OrgId, Seq } from '#libs/domain';
import type { FeedPage, FeedQuery } from '#libs/feed-store';
import { keyOf, OrgOfKey } from '../auth/authenticated-key.js';
import { RequestAuthenticator } from '../auth/request-authenticator.js';
import { RequireScope } from '../auth/require-scope.js';
import { ReadsQuery } from '../http/refuse-parameters.guard.js';
import { FeedFollower } from './feed-follower.js';
import {
  feedPageHeaders,
  feedPageJson,
  feedPageStream,
  STREAM_KEEP_ALIVE,
  STREAM_START,
} from './feed-page.presenter.js';
import { parseFeedQuery, parseLastEventId } from './feed-query.js';
import { OpenStreams } from './open-streams.js';
import { SharedReads } from './shared-reads.js';
import { withPatience } from './with-patience.js';

/** Decisions, section 11: Streaming. So often it is also checked that the key, or the session, is still in force. */
const KEEP_ALIVE_MS = 15_000;
/** A stream holds one page in memory until its client has read it, so its pages are small. */
const STREAM_PAGE_BYTES = 128 * 1024;
/** A client that reads nothing for so long has its stream closed; it resumes with `Last-Event-ID`. */
const STREAM_PATIENCE_MS = 30_000;

/** `GET /external/events`: the pull feed (contract 5.1, 5.4), at once, by long poll, or as a stream. */
@Controller('api/v1/external/events')
export class ReadFeedController {
  constructor(
    private readonly reads: SharedReads,
    private readonly follower: FeedFollower,
    private readonly authenticator: RequestAuthenticator,
    private readonly streams: OpenStreams,
  ) {}

  @Get()
  @ReadsQuery()
  @RequireScope('events:read')
  async read(
    @OrgOfKey() orgId: OrgId,
    @Query() parameters: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<string | StreamableFile> {
    const { query, hasSince, waitSeconds } = parseFeedQuery(parameters);
    reply.header('vary', 'accept');
    if (wantsStream(request)) {
      const lastEventId = parseLastEventId(request.headers['last-event-id']);
      return this.#stream(orgId, query, lastEventId ?? (hasSince ? query.since : undefined), request, reply);
    }
    const page =
      waitSeconds === 0
        ? await this.reads.page(orgId, query)
        : await this.follower.pageWhenThere(orgId, query, waitSeconds * 1_000, untilClosed(reply));
    reply.headers(feedPageHeaders(page)).header('content-type', 'application/json; charset=utf-8');
    return feedPageJson(page);
  }

  /** @param since where the stream begins; `undefined`: at the head */
  async #stream(
    orgId: OrgId,
    query: FeedQuery,
    since: Seq | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<StreamableFile> {
    const close = this.streams.open(keyOf(request).id);
    reply.raw.once('close', close);
    // Read before anything is sent, so that a failure is still answered as a problem.
    const { oldestSeq, headSeq } = await this.reads.page(orgId, { since: query.since, limit: 1 });
    reply.headers(feedPageHeaders({ oldestSeq, headSeq }));
    reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no');
    const signal = untilClosed(reply);
    const followed = { ...query, since: since ?? headSeq, maxBytes: STREAM_PAGE_BYTES };
    const pages = this.follower.follow(orgId, followed, KEEP_ALIVE_MS, signal);
    const text = Readable.from(
      withPatience(this.#texts(pages, request), STREAM_PATIENCE_MS, () => reply.raw.destroy()),
      { objectMode: false },
    );
    return new StreamableFile(text, { type: 'text/event-stream; charset=utf-8' });
  }

  async *#texts(
    pages: AsyncGenerator<FeedPage | null, void, undefined>,
    request: FastifyRequest,
  ): AsyncGenerator<string, void, undefined> {
    yield STREAM_START;
    for await (const page of pages) {
      if (page !== null) yield feedPageStream(page);
      else if (await this.authenticator.isInForce(request)) yield STREAM_KEEP_ALIVE;
      else return;
    }
  }
}

function wantsStream(request: FastifyRequest): boolean {
  const accepted = request.headers.accept ?? '';
  return accepted.split(',').some((range) => range.split(';', 1)[0]?.trim().toLowerCase() === 'text/event-stream');
}

/** Aborted when the answer is over, be it complete or because the caller has gone. */
function untilClosed(reply: FastifyReply): AbortSignal {
  const closed = new AbortController();
  reply.raw.once('close', () => {
    closed.abort();
  });
  return closed.signal;
}
