import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import {
  deliveryIdOf,
  replayAtMs,
  SEQ_NONE,
  type Clock,
  type DeliveryId,
  type EndpointId,
  type OrgId,
  type Replayed,
  type Seq,
} from '#libs/domain';
import {
  AuditLog,
  EndpointRecords,
  recoveredDelivery,
  RecoverySource,
  type EndpointRecord,
  type Recoverable,
  type RecoveryPage,
  type AuditActor,
} from '#libs/postgres';
import { Appender, attemptRecord, factRecord, type NewRecord, type TopicNames } from '#libs/kafka-log';
import { CLOCK, LOGGER, TOPICS } from '#libs/platform';
import type { Logger } from '#libs/runtime';
import { noSuchEndpoint } from '../webhooks/endpoint-id.pipe.js';
import { refuseInactive } from '../webhooks/refuse-inactive.js';
import { appendOrRefuse } from './append-or-refuse.js';
import { ProjectedDelivery } from './projected-delivery.js';
import { type RecoverDeliveriesDto, recoveryKinds, recoveryRange } from './recover-deliveries.dto.js';
import { replayRecords } from './replay.js';

/** Events that are looked up and scheduled at a time: a few megabytes at most for events of the usual size. */
const PAGE = 200;
/** How long the response waits for the whole recovery. The rest continues after the response (contract 4.4). */
const PATIENCE_MS = 5_000;

/** The progress of a recovery. */
interface Progress {
  matched: number;
  scheduled: number;
  /** The delivery that was scheduled last, and its run. */
  last?: { readonly id: DeliveryId; readonly run: number };
}

/** Returns the run to schedule: the next one for a failed delivery, the first one for a missed event. */
function runAfter(event: Recoverable): number {
  return event.kind === 'failed' ? event.run + 1 : 0;
}

/** The number of events that a recovery found, and of those that it has scheduled. */
export interface Recovered {
  readonly matched: number;
  readonly scheduled: number;
}

/** Re-sends failed and missed events, in seq order (contract 4.4). */
@Injectable()
export class Recoveries implements BeforeApplicationShutdown {
  readonly #running = new Set<Promise<void>>();
  readonly #ending = new AbortController();

  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly source: RecoverySource,
    private readonly audit: AuditLog,
    private readonly appender: Appender,
    private readonly projected: ProjectedDelivery,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Waits for the recovery for at most 5 s. The rest continues after that.
   * @throws GaplessError `validation_failed`, `not_found`, `endpoint_inactive`, `unavailable`
   */
  async recover(orgId: OrgId, id: EndpointId, body: RecoverDeliveriesDto, actor: AuditActor): Promise<Recovered> {
    const range = recoveryRange(body);
    const endpoint = await this.endpoints.find(orgId, id);
    if (endpoint === undefined) throw noSuchEndpoint();
    // A dry run sends nothing, so it also works before the endpoint is enabled.
    if (body.dry_run !== true) {
      refuseInactive(endpoint);
      // The audit entry comes first, so that nothing is sent again without one.
      const details = { since_seq: body.since_seq, since: body.since, until: body.until, status: body.status };
      await this.audit.append(actor, { orgId, action: 'deliveries.recovered', target: id, details });
    }
    const progress: Progress = { matched: 0, scheduled: 0 };
    const pages = this.#pages(endpoint, recoveryKinds(body), range);
    const work = body.dry_run === true ? this.#count(pages, progress) : this.#schedule(endpoint, pages, progress);
    this.#running.add(work);
    const done = work.finally(() => this.#running.delete(work));
    // A caller that no longer waits cannot see a failure, so the log shows it. Another recovery sends the rest.
    done.catch((error: unknown) => {
      this.logger.warn({ err: error, endpoint_id: id, ...progress }, 'recovery.failed');
    });
    const shown = done.then(() => this.#untilShown(endpoint, progress));
    await Promise.race([shown, delay(PATIENCE_MS, undefined, { ref: false })]);
    return { matched: progress.matched, scheduled: progress.scheduled };
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
    for (let after: Seq | null = SEQ_NONE; after !== null;) {
      this.#ending.signal.throwIfAborted();
      const page: RecoveryPage = await this.source.page(
        endpoint.orgId,
        endpoint,
        kinds,
        range,
        after,
        PAGE,
        this.clock.now(),
      );
      if (page.events.length > 0) yield page.events;
      after = page.next;
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
      const last = page.at(-1);
      if (last !== undefined) progress.last = { id: deliveryIdOf(last.eventId, endpoint.id), run: runAfter(last) };
    }
  }

  /**
   * Waits for the last delivery. The facts of an endpoint are projected in order, so the others are then shown, too.
   */
  async #untilShown(endpoint: EndpointRecord, { last }: Progress): Promise<void> {
    if (last !== undefined) await this.projected.of(endpoint.orgId, endpoint.id, last.id, last.run);
  }

  #records(endpoint: EndpointRecord, event: Recoverable): readonly NewRecord[] {
    const delivery = recoveredDelivery(endpoint.orgId, endpoint.id, event);
    const nowMs = this.clock.now();
    if (event.kind === 'failed') {
      const atMs = replayAtMs(nowMs, event.createdAtMs, event.lastAttemptEndMs);
      const replayed: Replayed = { type: 'replayed', delivery, run: runAfter(event), atMs };
      return replayRecords(this.topics, replayed, event.envelope, nowMs);
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
