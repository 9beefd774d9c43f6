import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import {
  GaplessError,
  SEQ_NONE,
  type Clock,
  type EndpointId,
  type OrgId,
  type RecoveryId,
  type Seq,
} from '#libs/domain';
import {
  earlierClock,
  EndpointRecords,
  RecoveryRecords,
  RecoverySource,
  Store,
  type AuditActor,
  type EndpointRecord,
  type RecoveryOrder,
  type RecoveryRecord,
  type RecoveryWorker,
  NOT_BEGUN,
} from '#libs/postgres';
import { Appender, type TopicNames } from '#libs/kafka-log';
import { CLOCK, CONFIG, LOGGER, RegularWork, TOPICS } from '#libs/platform';
import { Identifiers, type Config, type Logger } from '#libs/runtime';
import { noSuchEndpoint } from '../webhooks/endpoint-id.pipe.js';
import { refuseInactive } from '../webhooks/refuse-inactive.js';
import { ProjectedDelivery } from './projected-delivery.js';
import { ProjectedFacts } from './projected-facts.js';
import { type RecoverDeliveriesDto, recoveryKinds, recoveryRange } from './recover-deliveries.dto.js';
import { RECOVERY_PAGE, RecoveryRun } from './recovery-run.js';
import { RoutingProgress } from './routing-progress.js';

/** How long the response waits for the whole recovery, or for the count. The recovery continues after it. */
const PATIENCE_MS = 5_000;
const LOOK_EVERY_MS = 2_000;
const PRUNE_EVERY_MS = 60_000;
/** The most rows that one statement deletes. */
const PRUNE_ROWS = 1_000;
/** How long a recovery rests after a failure. */
const REST_MS = 10_000;
/** How many recoveries that wait for a turn a process works on at once. */
const MOST_AT_ONCE = 4;
/** How many recoveries of an organization a process begins at once. Further ones wait for a turn. */
const MOST_BEGUN_OF_ORG = 2;
/** How many organizations a process remembers that have had turns. */
const MOST_REMEMBERED = 1_000;
/** How many recoveries of an endpoint may run at once. */
const MOST_OF_ENDPOINT = 5;

/** The beginning of a recovery, or a count. */
export interface Recovered {
  /** `null` in a dry run. */
  readonly id: RecoveryId | null;
  /** Whether the whole range was looked at. If not, the recovery continues, and the numbers grow. */
  readonly complete: boolean;
  readonly matched: number;
  readonly scheduled: number;
}

/** A recovery that must not begin twice. */
export interface RecoveryOnce {
  readonly id: RecoveryId;
  /** Whether a request for a recovery that has begun is answered with its progress. */
  readonly ifBegun: 'answer' | 'refuse';
}

/** Turns that are under way, each with its organization. */
type Turns = Map<Promise<void>, OrgId>;

/** Sends events of an endpoint again, or late, in seq order (contract 4.4). Any process goes on with what another left. */
@Injectable()
export class Recoveries extends RegularWork {
  readonly #claimed: Turns = new Map();
  /** First turns, which requests began. They take no places of the others: one organization may make many requests. */
  readonly #begun: Turns = new Map();
  /** Organizations that had turns while others waited, the one whose last turn is longest ago first. */
  #served: readonly OrgId[] = [];
  readonly #ending = new AbortController();
  #prunesAtMs = 0;

  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly source: RecoverySource,
    private readonly records: RecoveryRecords,
    private readonly appender: Appender,
    private readonly projected: ProjectedDelivery,
    private readonly facts: ProjectedFacts,
    private readonly routing: RoutingProgress,
    private readonly identifiers: Identifiers,
    private readonly store: Store,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super({ everyMs: LOOK_EVERY_MS });
  }

  /**
   * Begins a recovery and waits for it for at most 5 s. A dry run only counts, for at most as long.
   * @throws GaplessError `validation_failed`, `not_found`, `endpoint_inactive`, `recovery_limit_reached`, `unavailable`
   */
  async recover(
    orgId: OrgId,
    id: EndpointId,
    body: RecoverDeliveriesDto,
    actor: AuditActor,
    once: RecoveryOnce = { id: this.identifiers.recoveryId(), ifBegun: 'refuse' },
  ): Promise<Recovered> {
    const order = { orgId, endpointId: id, kinds: recoveryKinds(body), range: recoveryRange(body) };
    const endpoint = await this.endpoints.find(orgId, id);
    if (endpoint === undefined) throw noSuchEndpoint();
    // A dry run sends nothing, so it also works before the endpoint is enabled.
    if (body.dry_run === true) return this.#count(endpoint, order);
    refuseInactive(endpoint);
    return this.#begin(once, order, actor);
  }

  override async beforeApplicationShutdown(): Promise<void> {
    this.#ending.abort(new Error('the process ends'));
    await super.beforeApplicationShutdown();
    await Promise.all([...this.#claimed.keys(), ...this.#begun.keys()]);
  }

  protected async act(signal: AbortSignal): Promise<undefined> {
    await this.#goOnWithOthers();
    if (performance.now() < this.#prunesAtMs) return;
    this.#prunesAtMs = performance.now() + PRUNE_EVERY_MS;
    const nowMs = await earlierClock(this.store, this.clock.now());
    const before = new Date(nowMs - this.config.retentionMs);
    while (!signal.aborted && (await this.records.prune(before, PRUNE_ROWS)) === PRUNE_ROWS);
  }

  protected failed(error: unknown): void {
    this.logger.warn({ err: error }, 'recoveries.waiting');
  }

  /** Gives turns to recoveries that nobody works on. Their organizations take turns, too. */
  async #goOnWithOthers(): Promise<void> {
    while (this.#claimed.size < MOST_AT_ONCE && !this.#ending.signal.aborted) {
      // One for each claim: a run that has outlived its lease notices that this process has claimed the recovery again.
      const worker = randomUUID();
      const recovery = await this.records.claim(worker, this.#served);
      if (recovery === undefined) {
        this.#served = [];
        return;
      }
      const { orgId } = recovery;
      this.#served = [...this.#served.filter((id) => id !== orgId), orgId].slice(-MOST_REMEMBERED);
      this.#goOn(this.#runOf(recovery, worker), this.#claimed);
    }
  }

  async #count(endpoint: EndpointRecord, { orgId, kinds, range }: RecoveryOrder): Promise<Recovered> {
    const deadline = performance.now() + PATIENCE_MS;
    const began = await this.routing.lookTime(orgId);
    // What was sent already would count.
    if (!(await this.facts.areComplete(endpoint.id))) return { id: null, complete: false, matched: 0, scheduled: 0 };
    let matched = 0;
    let isUndecided = false;
    let after: Seq | null = SEQ_NONE;
    while (after !== null && performance.now() < deadline) {
      const page = await this.source.page(orgId, endpoint, kinds, range, after, RECOVERY_PAGE, began);
      matched += page.events.length;
      // Whether the endpoint missed them shows within a minute. New events are always open to `never_sent`.
      isUndecided ||= page.firstUndecided !== null && kinds.includes('missed');
      after = page.next;
    }
    return { id: null, complete: after === null && !isUndecided, matched, scheduled: 0 };
  }

  async #begin({ id, ifBegun }: RecoveryOnce, order: RecoveryOrder, actor: AuditActor): Promise<Recovered> {
    const worker = randomUUID();
    const recovery = await this.records.by(actor).begin(id, order, worker, {
      at: new Date(this.clock.now()),
      limit: MOST_OF_ENDPOINT,
    });
    if (recovery === undefined) {
      const begun = await this.records.find(order.orgId, id);
      if (begun !== undefined && begun.error !== NOT_BEGUN) {
        if (ifBegun === 'refuse') throw begunBefore(id);
        const { status, matched, scheduled } = begun;
        return { id, complete: status === 'done', matched, scheduled };
      }
      throw new GaplessError(
        'recovery_limit_reached',
        `${MOST_OF_ENDPOINT} recoveries of the endpoint are running. Wait for one, or stop one.`,
      );
    }
    const run = this.#runOf(recovery, worker);
    if ([...this.#begun.values()].filter((orgId) => orgId === order.orgId).length >= MOST_BEGUN_OF_ORG) {
      await this.#release(run, 0);
      return { id: recovery.id, ...run.progress };
    }
    const work = run.run();
    this.#goOn(run, this.#begun, work);
    const shown = work.then(() => this.#untilShown(run));
    try {
      await Promise.race([shown, delay(PATIENCE_MS, undefined, { ref: false })]);
    } catch (error) {
      // The process ends. The recovery is stored, and another process goes on with it.
      const goesOn = this.#ending.signal.aborted || run.progress.scheduled > 0;
      // Otherwise the caller learns of it and asks again, so nothing of this recovery may follow.
      const at = new Date(this.clock.now());
      const hasEnded =
        !goesOn &&
        (await this.records.end(recovery, worker, { status: 'failed', error: NOT_BEGUN, at }).catch(() => false));
      if (hasEnded) throw error;
    }
    return { id: recovery.id, ...run.progress };
  }

  #runOf(recovery: RecoveryRecord, worker: RecoveryWorker): RecoveryRun {
    const { endpoints, facts, routing, source, records, appender, topics, clock } = this;
    const signal = this.#ending.signal;
    return new RecoveryRun(recovery, {
      endpoints,
      facts,
      routing,
      source,
      records,
      appender,
      topics,
      clock,
      worker,
      signal,
    });
  }

  /** Works on the recovery for a turn. After a failure, a process goes on with it later. */
  #goOn(run: RecoveryRun, turns: Turns, work = run.run()): void {
    const { id, endpointId } = run.recovery;
    const done = work.catch(async (error: unknown) => {
      const restMs = this.#ending.signal.aborted ? 0 : REST_MS;
      if (restMs > 0) {
        this.logger.warn({ err: error, recovery: id, endpoint_id: endpointId, ...run.progress }, 'recovery.waiting');
      }
      await this.#release(run, restMs);
    });
    turns.set(done, run.recovery.orgId);
    void done.then(async () => {
      turns.delete(done);
      // The next turn does not wait for the next look.
      await this.#goOnWithOthers().catch(() => undefined);
    });
  }

  /** Without Postgres, the recovery is free once its lease is over. */
  async #release({ recovery, worker }: RecoveryRun, afterMs: number): Promise<void> {
    await this.records.release(recovery, worker, afterMs).catch(() => undefined);
  }

  /** Waits for the last delivery. The facts of an endpoint are projected in order, so the others are then shown, too. */
  async #untilShown({ recovery, last }: RecoveryRun): Promise<void> {
    if (last !== undefined) await this.projected.of(recovery.orgId, recovery.endpointId, last.id, last.run);
  }
}

function begunBefore(id: RecoveryId): GaplessError {
  return new GaplessError('validation_failed', `This is confirmed already: recovery ${id} has begun.`);
}
