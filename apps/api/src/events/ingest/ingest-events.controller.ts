import { Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GaplessError, type Clock, type EventId, type InboxEvent } from '#libs/domain';
import { INGEST_LIMITS, SubmissionParser } from '#libs/event-validation';
import { eventKey, type EventKey } from '#libs/postgres';
import { Appender, inboxRecord, type NewRecord, type TopicNames } from '#libs/kafka-log';
import { CLOCK, TOPICS } from '#libs/platform';
import { Identifiers } from '#libs/runtime';
import { keyOf } from '../../auth/authenticated-key.js';
import { RequireScope } from '../../auth/require-scope.js';
import { bodyOf } from '../../http/bodies/body.js';
import { Limits } from '../../http/operation-limits.js';
import { Idempotency } from '../../idempotency/idempotency.js';
import { seededEventId } from '../../idempotency/seeded-event-id.js';
import { IngestPace } from '../../rate-limits/ingest-pace.js';
import { RateLimits } from '../../rate-limits/rate-limits.js';
import { CheckedIds, type IdCheck } from '../ids/checked-ids.js';
import { RequestTraces } from './request-traces.js';

interface IngestAnswer {
  readonly data: readonly { readonly id: EventId }[];
}

/** `POST /internal/events`: accepts events of product services (contract 5.6). */
@Controller('api/v1/internal/events')
export class IngestEventsController {
  readonly #parser = new SubmissionParser();

  constructor(
    private readonly checkedIds: CheckedIds,
    private readonly appender: Appender,
    private readonly identifiers: Identifiers,
    private readonly rateLimits: RateLimits,
    private readonly pace: IngestPace,
    private readonly idempotency: Idempotency,
    private readonly traces: RequestTraces,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Answers once the brokers have acknowledged all events. One invalid event refuses the whole request. */
  @Post()
  @HttpCode(202)
  @RequireScope('events:write')
  @Limits({ bodyBytes: INGEST_LIMITS.maxRequestBytes, countedAs: 'events' })
  ingest(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<IngestAnswer | string> {
    return this.idempotency.once(request, reply, (seed) =>
      this.traces.trace('ingest', request, (traceparent) => this.#accept(request, reply, seed, traceparent)),
    );
  }

  /** @param seed gives events without an id the same ids if the request is repeated; `null` without a key for that */
  async #accept(
    request: FastifyRequest,
    reply: FastifyReply,
    seed: string | null,
    traceparent: string,
  ): Promise<IngestAnswer> {
    const body = bodyOf(request);
    const key = keyOf(request);
    const context = { orgOfKey: key.orgId, nowMs: this.clock.now(), limits: INGEST_LIMITS };
    const submitted = await this.#parser.parse(body, context);
    if (submitted.length > 1) {
      await this.rateLimits.count('events', key.quota, submitted.length, reply, { counted: 1 });
    }
    const events = submitted.map((event, index) => ({
      ...event,
      id: event.id ?? seededEventId(this.identifiers, seed, index),
    }));
    // A new id that only this request can have need not be looked up.
    const mayBeKnown = seed === null ? events.filter((_, index) => submitted[index]?.id) : events;
    // Turns are taken by organization, so that more keys give nobody a larger share.
    const caller = key.orgId ?? key.id;
    const { heldBody } = request;
    // The events are written also if their caller is gone.
    heldBody?.keep();
    try {
      let checks: ReadonlyMap<EventKey, IdCheck> | undefined;
      for await (const part of this.pace.inTurn(key.quota, events, body.length)) {
        // Check every id before the first append: a refused request appends nothing.
        checks ??= await this.checkedIds.check(mayBeKnown);
        await this.#append(this.#recordsOf(part, checks, traceparent), caller);
      }
    } finally {
      heldBody?.release();
    }
    return { data: events.map(({ id }) => ({ id })) };
  }

  /** Returns the inbox records of the events that the feed does not have. */
  #recordsOf(
    events: readonly InboxEvent[],
    checks: ReadonlyMap<EventKey, IdCheck>,
    traceparent: string,
  ): readonly NewRecord[] {
    return events.flatMap((event) => {
      const check = checks.get(eventKey(event.orgId, event.id));
      if (check?.kind === 'known') return [];
      const checkedTo = check === undefined ? {} : { checkedTo: check.checkedTo };
      return [inboxRecord(this.topics.inbox, event, { traceparent, ...checkedTo })];
    });
  }

  async #append(records: readonly NewRecord[], caller: string): Promise<void> {
    try {
      await this.appender.append(records, caller);
    } catch (cause) {
      // A failed append may still have written the events. A retry with the same ids repeats none of them.
      throw new GaplessError('unavailable', 'The log cannot be reached; repeat the request with the same event ids.', {
        cause,
      });
    }
  }
}
