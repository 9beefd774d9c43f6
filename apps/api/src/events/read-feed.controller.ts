import { Readable } from 'node:stream';
import { Controller, Get, Query, Req, Res, StreamableFile } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OrgId, Seq } from '#libs/domain';
import { FeedCursors, type FeedQuery } from '#libs/postgres';
import { keyOf, OrgOfKey } from '../auth/authenticated-key.js';
import { RequestAuthenticator } from '../auth/request-authenticator.js';
import { RequireScope } from '../auth/require-scope.js';
import { noSuchCursor } from '../cursors/cursor-name.js';
import { ReadsQuery } from '../http/refuse-parameters.guard.js';
import { whenClosed } from '../http/when-closed.js';
import { FeedFollower, type Followed } from './feed-follower.js';
import { feedPageHeaders, STREAM_START, streamPosition } from './feed-page.presenter.js';
import { parseFeedQuery, parseLastEventId, refuseLookBack, type FeedRequest } from './feed-query.js';
import { acceptsStream } from './streams/accepts-stream.js';
import { OpenStreams } from './streams/open-streams.js';
import { SharedReads } from './shared-reads.js';
import { StreamPages } from './streams/stream-pages.js';
import type { StreamPage } from './streams/stream-room.js';
import { untilClosed } from './until-closed.js';
import { withPatience } from './with-patience.js';

/**
 * How often the position is sent (contract 5.5). A notification says when a key or session has ended. Should it get lost,
 * or should a session expire, the stream ends instead of sending the next position.
 */
const POSITION_EVERY_MS = 15_000;
/** The most bytes that a connection gets at a time. */
const PIECE_BYTES = 16 * 1024;
/** The most bytes of a page that wait in a connection when the next page is asked for: a piece in it, and one before it. */
const UNSENT_BYTES = 2 * PIECE_BYTES;
/** A stream is closed if its client reads nothing for this long. The client resumes with `Last-Event-ID`. */
const STREAM_PATIENCE_MS = 30_000;

/** `GET /external/events`: the pull feed (contract 5.1, 5.4), at once, by long poll, or as a stream. */
@Controller('api/v1/external/events')
export class ReadFeedController {
  constructor(
    private readonly reads: SharedReads,
    private readonly follower: FeedFollower,
    private readonly authenticator: RequestAuthenticator,
    private readonly streams: OpenStreams,
    private readonly pages: StreamPages,
    private readonly cursors: FeedCursors,
  ) {}

  @Get()
  @ReadsQuery()
  @RequireScope('events:read')
  async read(
    @OrgOfKey() orgId: OrgId,
    @Query() parameters: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer | StreamableFile> {
    const { query, hasSince, waitSeconds } = await this.#fromCursor(orgId, parseFeedQuery(parameters));
    reply.header('vary', 'accept');
    if (acceptsStream(request.headers.accept)) {
      refuseLookBack(query);
      const lastEventId = parseLastEventId(request.headers['last-event-id']);
      return this.#stream(orgId, query, lastEventId ?? (hasSince ? query.since : undefined), request, reply);
    }
    const page =
      waitSeconds === 0
        ? await this.reads.page(orgId, query, untilClosed(reply))
        : await this.follower.pageWhenThere(orgId, query, waitSeconds * 1_000, untilClosed(reply), () =>
            this.authenticator.isInForce(request),
          );
    reply.headers(feedPageHeaders(page)).header('content-type', 'application/json; charset=utf-8');
    return page.json;
  }

  /** @throws GaplessError `not_found`: a reader with a misspelled cursor would read everything again */
  async #fromCursor(orgId: OrgId, request: FeedRequest): Promise<FeedRequest> {
    if (request.cursor === undefined) return request;
    const cursor = await this.cursors.read(orgId, request.cursor);
    if (cursor === undefined) throw noSuchCursor();
    return { ...request, query: { ...request.query, since: cursor.seq }, hasSince: true };
  }

  /** @param since the seq after which the stream begins; `undefined`: at the head */
  async #stream(
    orgId: OrgId,
    query: FeedQuery,
    since: Seq | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<StreamableFile> {
    const key = keyOf(request).quota;
    // If the stream is refused, its connection is closed, since it would only take memory.
    reply.header('connection', 'close');
    whenClosed(reply, this.streams.open(orgId, key));
    reply.removeHeader('connection');
    // Read before anything is sent, so that a failure is still answered as a problem.
    const { oldestSeq, headSeq } = await this.reads.bounds(orgId);
    reply.headers(feedPageHeaders({ oldestSeq, headSeq }));
    reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no');
    const signal = untilClosed(reply);
    const followed = { ...query, since: since ?? headSeq };
    const read = (asked: FeedQuery) => this.pages.read(orgId, key, asked, signal);
    const pages = this.follower.follow(orgId, followed, read, POSITION_EVERY_MS, signal);
    const text = Readable.from(
      withPatience(this.#pieces(followed.since, pages, request), STREAM_PATIENCE_MS, () => reply.raw.destroy()),
      { objectMode: false, highWaterMark: PIECE_BYTES },
    );
    return new StreamableFile(text, { type: 'text/event-stream; charset=utf-8' });
  }

  async *#pieces(
    since: Seq,
    pages: AsyncGenerator<Followed<StreamPage>, void, undefined>,
    request: FastifyRequest,
  ): AsyncGenerator<string | Buffer, void, undefined> {
    // A client that is cut off before its first event would begin at a later head.
    yield STREAM_START + streamPosition(since);
    for await (const { page, checkedTo } of pages) {
      try {
        // Also before events: a notification of the end of the credentials may be late, or lost.
        if (!(await this.authenticator.isInForce(request))) return;
        if (page === null) yield streamPosition(checkedTo);
        else if (page.held !== null) yield* piecesOf(page.held.text);
      } finally {
        page?.held?.release();
      }
    }
  }
}

/**
 * Yields pieces. The last of them are copies: when the page is released, they are not sent yet, and they would keep all of
 * it in memory.
 */
function* piecesOf(text: Buffer): Generator<Buffer, void, undefined> {
  const copiedFrom = text.length > UNSENT_BYTES ? text.length - UNSENT_BYTES : Infinity;
  for (let at = 0; at < text.length; at += PIECE_BYTES) {
    const piece = text.subarray(at, at + PIECE_BYTES);
    yield at + PIECE_BYTES > copiedFrom ? Buffer.from(piece) : piece;
  }
}
