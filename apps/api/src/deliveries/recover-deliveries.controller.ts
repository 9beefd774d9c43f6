import { setTimeout as delay } from 'node:timers/promises';
import { Controller, HttpCode, Inject, Param, Post, type BeforeApplicationShutdown } from '@nestjs/common';
import { SEQ_NONE, type Clock, type EndpointId, type OrgId } from '#libs/domain';
import {
  EndpointRecords,
  recoveredDelivery,
  RecoverySource,
  type EndpointRecord,
  type Recoverable,
} from '#libs/feed-store';
import { Appender, attemptRecord, factRecord, type NewRecord, type TopicNames } from '#libs/kafka-log';
import { CLOCK, LOGGER, TOPICS } from '#libs/platform';
import type { Logger } from '#libs/runtime';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { EndpointIdPipe, noSuchEndpoint } from '../webhooks/endpoint-id.pipe.js';
import { refuseInactive } from '../webhooks/refuse-inactive.js';
import { appendOrRefuse } from './append-or-refuse.js';
import { RecoverDeliveriesDto, recoveryKinds, recoveryRange } from './recover-deliveries.dto.js';
import { replayRecords } from './replay.js';

/** Events that are looked up and scheduled at a time: some megabytes at most for events of the usual size. */
const PAGE = 200;
/** How long the answer waits for all of it; the rest goes on behind the answer (decisions, section 11). */
const PATIENCE_MS = 5_000;

/** What of a recovery is done so far. */
interface Progress {
  matched: number;
  scheduled: number;
}

/** `POST /external/webhooks/:id/recover`: re-sends what failed or was missed, in seq order (decisions, section 3). */
@Controller('api/v1/external/webhooks/:id/recover')
export class RecoverDeliveriesController implements BeforeApplicationShutdown {
  readonly #running = new Set<Promise<void>>();
  readonly #ending = new AbortController();

  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly source: RecoverySource,
    private readonly appender: Appender,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Post()
  @HttpCode(202)
  @RequireScope('webhooks:write')
  async recover(
    @OrgOfKey() orgId: OrgId,
    @Param('id', EndpointIdPipe) id: EndpointId,
    @JsonBody(RecoverDeliveriesDto) body: RecoverDeliveriesDto,
  ): Promise<{ readonly data: Progress }> {
    const range = recoveryRange(body);
    const endpoint = await this.endpoints.find(orgId, id);
    if (endpoint === undefined) throw noSuchEndpoint();
    refuseInactive(endpoint);
    const progress: Progress = { matched: 0, scheduled: 0 };
    const pages = this.#pages(endpoint, recoveryKinds(body), range);
    const work = body.dry_run === true ? this.#count(pages, progress) : this.#schedule(endpoint, pages, progress);
    this.#running.add(work);
    const done = work.finally(() => this.#running.delete(work));
    // Whoever waits no longer is not told of a failure, but the log is; recovering once more goes on with the rest.
    done.catch((error: unknown) => {
      this.logger.warn({ err: error, endpoint_id: id, ...progress }, 'recovery.failed');
    });
    await Promise.race([done, delay(PATIENCE_MS, undefined, { ref: false })]);
    return { data: { ...progress } };
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#ending.abort(new Error('the process ends'));
    await Promise.allSettled(this.#running);
  }

  async *#pages(
    endpoint: EndpointRecord,
    kinds: ReturnType<typeof recoveryKinds>,
    range: ReturnType<typeof recoveryRange>,
  ): AsyncGenerator<readonly Recoverable[]> {
    for (let after = SEQ_NONE; ;) {
      this.#ending.signal.throwIfAborted();
      const page = await this.source.page(endpoint.orgId, endpoint, kinds, range, after, PAGE);
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      after = last.seq;
    }
  }

  async #count(pages: AsyncIterable<readonly Recoverable[]>, progress: Progress): Promise<void> {
    for await (const page of pages) progress.matched += page.length;
  }

  async #schedule(
    endpoint: EndpointRecord,
    pages: AsyncIterable<readonly Recoverable[]>,
    progress: Progress,
  ): Promise<void> {
    for await (const page of pages) {
      progress.matched += page.length;
      await appendOrRefuse(
        this.appender,
        page.flatMap((event) => this.#records(endpoint, event)),
      );
      progress.scheduled += page.length;
    }
  }

  #records(endpoint: EndpointRecord, event: Recoverable): readonly NewRecord[] {
    const delivery = recoveredDelivery(endpoint.orgId, endpoint.id, event);
    const nowMs = this.clock.now();
    if (event.kind === 'failed') {
      return replayRecords(this.topics, delivery, event.run + 1, event.envelope, nowMs);
    }
    return [
      factRecord(this.topics.deliveries, { type: 'scheduled', delivery }),
      attemptRecord(this.topics.attempts, {
        delivery,
        run: 0,
        attempt: 1,
        dueAtMs: nowMs,
        traceparent: null,
        envelope: event.envelope,
      }),
    ];
  }
}
