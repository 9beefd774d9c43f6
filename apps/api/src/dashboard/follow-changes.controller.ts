import { setTimeout as delay } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { Controller, Get, Req, Res, StreamableFile } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OrgId } from '#libs/domain';
import { DashboardFigures } from '#libs/postgres';
import { keyOf, OrgOfKey } from '../auth/authenticated-key.js';
import { sessionOf } from '../auth/dashboard-session.js';
import { RequestAuthenticator } from '../auth/request-authenticator.js';
import { AnyKey } from '../auth/require-scope.js';
import { FeedHeads } from '../events/feed-heads.js';
import type { HeadWatch } from '../events/head-watch.js';
import { STREAM_START } from '../events/feed-page.presenter.js';
import { OpenStreams } from '../events/streams/open-streams.js';
import { SharedReads } from '../events/shared-reads.js';
import { withPatience } from '../events/with-patience.js';
import { whenClosed } from '../http/when-closed.js';
import { ShortMemory } from './short-memory.js';

/** How often a stream looks for changes. All streams of an org share one look. */
const LOOK_EVERY_MS = 3_000;
/** A busy log reports its head at most this often. */
const HEAD_EVERY_MS = 250;
/** An event, not a comment, because scripts do not see comments. */
const KEEP_ALIVE_MS = 15_000;
/** A client that reads nothing for this long loses its stream. Its browser connects again. */
const PATIENCE_MS = 30_000;
const PIECE_BYTES = 1_024;

interface Reader {
  readonly orgId: OrgId;
  readonly mayReadEvents: boolean;
  readonly mayReadWebhooks: boolean;
  readonly mayReadSettings: boolean;
}

/**
 * `GET /dashboard/changes`: says when something that the key may read has changed, so that open pages need not ask. It
 * carries no data: pages read what they show.
 */
@Controller('api/v1/dashboard/changes')
export class FollowChangesController {
  constructor(
    private readonly figures: DashboardFigures,
    private readonly memory: ShortMemory,
    private readonly heads: FeedHeads,
    private readonly reads: SharedReads,
    private readonly streams: OpenStreams,
    private readonly authenticator: RequestAuthenticator,
  ) {}

  @Get()
  @AnyKey()
  async follow(
    @OrgOfKey() orgId: OrgId,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StreamableFile> {
    // Only pages follow changes. API keys get 404, as for the session itself.
    if (request.portal === null) sessionOf(request);
    const { quota, scopes } = keyOf(request);
    const reader: Reader = {
      orgId,
      mayReadEvents: scopes.includes('events:read'),
      mayReadWebhooks: scopes.includes('webhooks:read'),
      mayReadSettings: scopes.includes('settings:read'),
    };
    // If the stream is refused, its connection is closed, since it would only take memory.
    reply.header('connection', 'close');
    whenClosed(reply, this.streams.open(orgId, quota));
    reply.removeHeader('connection');
    // Read before anything is sent, so that a failure is still answered as a problem.
    const { headSeq } = await this.reads.bounds(orgId);
    const watch = this.heads.watch(orgId, headSeq);
    whenClosed(reply, () => {
      watch.close();
    });
    reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no');
    const pieces = withPatience(this.#pieces(reader, watch, request), PATIENCE_MS, () => reply.raw.destroy());
    const text = Readable.from(pieces, { objectMode: false, highWaterMark: PIECE_BYTES });
    return new StreamableFile(text, { type: 'text/event-stream; charset=utf-8' });
  }

  async *#pieces(reader: Reader, watch: HeadWatch, request: FastifyRequest): AsyncGenerator<string, void, undefined> {
    try {
      yield STREAM_START;
      let known = await this.#mark(reader);
      for (let nextLookMs = performance.now() + LOOK_EVERY_MS, nextBeatMs = performance.now() + KEEP_ALIVE_MS; ;) {
        const waited = await watch.wait(Math.max(0, nextLookMs - performance.now()));
        if (waited === 'ended') return;
        if (waited === 'moved') {
          watch.reset();
          const { headSeq } = await this.reads.bounds(reader.orgId);
          watch.seen(headSeq, headSeq);
          if (reader.mayReadEvents) yield `event: head\ndata: ${headSeq}\n\n`;
          await delay(HEAD_EVERY_MS);
        }
        if (waited === 'check' || performance.now() >= nextLookMs) {
          nextLookMs = performance.now() + LOOK_EVERY_MS;
          // Idle pages ask for nothing, so a session that has ended is noticed here.
          if (!(await this.authenticator.isInForce(request))) return;
          const mark = await this.#mark(reader);
          if (mark !== known) yield 'event: changed\ndata:\n\n';
          known = mark;
        }
        if (performance.now() >= nextBeatMs) {
          nextBeatMs = performance.now() + KEEP_ALIVE_MS;
          yield 'event: beat\ndata:\n\n';
        }
      }
    } finally {
      watch.close();
    }
  }

  /** Returns a text that changes with what the reader may see. */
  async #mark({ orgId, mayReadWebhooks, mayReadSettings }: Reader): Promise<string> {
    const marks = await this.memory.ask(orgId, 'changes', () => this.figures.changeMarks(orgId), LOOK_EVERY_MS / 2);
    return `${mayReadWebhooks ? marks.endpoints : ''} ${mayReadSettings ? marks.chats : ''}`;
  }
}
