import { setImmediate } from 'node:timers/promises';
import {
  attemptLeadMs,
  batchLimit,
  decideAfterAttempt,
  decideAfterCallback,
  errorText,
  followsInChain,
  isOrdered,
  isPaced,
  loggedDueMs,
  type AfterAttempt,
  type Attempted,
  type AttemptOutcome,
  type BatchedDelivery,
  type DeliveryFact,
  type Destination,
  type DueAttempt,
  type Target,
  type WaitedFor,
} from '#libs/domain';
import { attemptRecord, factRecord, type Appender, type NewRecord } from '#libs/kafka-log';
import { parseTraceParent } from '#libs/telemetry';
import type { StageKit } from '#libs/platform';
import { untilItWorks } from '#libs/runtime';
import { UNREADABLE_WAIT_MS, type DispatchLookup, type Found } from './dispatch-lookup.js';
import type { Flight } from '../lanes/lane.js';
import { measureAttempt } from './measure-attempt.js';
import type { MakingEnd, RecentAttempts } from './recent-attempts.js';
import { traceAttempt } from './trace-attempt.js';

export interface AttemptMakerDependencies {
  readonly kit: StageKit;
  readonly lookup: DispatchLookup;
  readonly destination: Destination;
  readonly appender: Appender;
  readonly recent: RecentAttempts;
  /** What its attempts wait for; missing if they begin at once. `pace`: it makes those of paced endpoints, and no others. */
  readonly waitsFor?: Exclude<WaitedFor, 'order'>;
  /** Aborted when the process ends. Attempts in flight are then made again later. */
  readonly signal: AbortSignal;
}

/** What became of an attempt of an ordered delivery and of those that follow it. */
export type OrderedResult =
  /** This many of them are done: sent, or ended for another reason. The lane goes on after them. */
  | { readonly kind: 'done'; readonly deliveries: number }
  /** The first one failed and waits for its next attempt. */
  | { readonly kind: 'waits'; readonly untilMs: number }
  /** The endpoint could not be read, so there was no attempt. */
  | { readonly kind: 'unreadable'; readonly untilMs: number }
  /** The endpoint is not ordered any more, another process makes the attempt, or the lane is out of date. */
  | { readonly kind: 'left' };

/** Where to push, as it was read with the endpoints of an event. */
export interface FoundTarget {
  readonly target: Target;
  /** When the read began, milliseconds of the monotonic clock. */
  readonly askedAtMs: number;
}

type FoundTargetResult = Extract<Found, { readonly kind: 'target' }>;

interface MakeOptions {
  readonly onSent?: (() => void) | undefined;
  readonly onUnreadable?: (() => void) | undefined;
  readonly onLeft?: (() => void) | undefined;
  readonly found?: FoundTarget | undefined;
}

/**
 * How long a found target counts. It is about as long as a look-up takes, so that a new secret, a new url or the end of
 * the endpoint takes effect no later.
 */
const FOUND_MS = 10;

/** A response of at most this length is stored with each delivery of a batch, a longer one with the first alone. */
const SHORT_EXCERPT = 200;

/** Makes attempts: looks up the endpoint, pushes, and appends the outcome. Never writes Postgres. */
export class AttemptMaker {
  readonly #isForPaced: boolean;

  constructor(private readonly use: AttemptMakerDependencies) {
    this.#isForPaced = use.waitsFor === 'pace';
  }

  /**
   * Resolves once every record that follows from the attempt is in Kafka, so that its offset may be committed.
   * @param onSent called when the request is on its way
   * @param onUnreadable called if the attempt of a paced endpoint is left because its endpoint cannot be read
   * @param onLeft called if it is passed on because its endpoint is not paced any more
   * @param found saves the look-up, if it is young; only for a delivery that has no attempt and no end yet
   * @throws the signal's reason when the process ends first
   */
  async make(due: DueAttempt, flight: Flight, { found: known, ...hooks }: MakeOptions = {}): Promise<void> {
    const isYoung = known !== undefined && performance.now() - known.askedAtMs <= FOUND_MS;
    const found = isYoung ? ({ kind: 'target', target: known.target } as const) : await this.look(due);
    // The current owner of the partition makes the attempt.
    if (flight.isWithdrawn) return;
    if (this.#isMadeHere(found)) {
      await this.use.recent.once(due, (hasWaited) =>
        this.#pushWhileDue(due, hasWaited ? undefined : found.target, flight, hooks),
      );
    } else await this.#endUnmade(due, found, hooks);
  }

  #isMadeHere(found: Found): found is FoundTargetResult {
    return found.kind === 'target' && isPaced(found.target.settings) === this.#isForPaced;
  }

  /**
   * Pushes, and looks the endpoint up again after each wait.
   * @param first the endpoint, if it was looked up a moment ago
   */
  async #pushWhileDue(
    due: DueAttempt,
    first: Target | undefined,
    flight: Flight,
    hooks: MakeOptions,
  ): Promise<MakingEnd> {
    let target = first;
    while (target === undefined || !(await this.#push(due, target, flight, hooks.onSent))) {
      const again = await this.look(due);
      if (flight.isWithdrawn) return 'withdrawn';
      if (!this.#isMadeHere(again)) {
        await this.#endUnmade(due, again, hooks);
        return 'left';
      }
      ({ target } = again);
    }
    return 'made';
  }

  /** Does what follows from the look-up if no attempt does. */
  async #endUnmade(due: DueAttempt, found: Found, { onUnreadable, onLeft }: MakeOptions): Promise<void> {
    switch (found.kind) {
      // Attempts to a deleted endpoint are dropped, and so are retries of a run that is over.
      case 'gone':
      case 'superseded':
        return;
      case 'inactive':
        await this.#append([
          this.#fact({ type: 'ended', delivery: due.delivery, run: due.run, reason: 'endpoint_disabled' }),
        ]);
        return;
      // It holds no place until the key is there. In a retry topic it would look lost after 5 minutes, and the reconciler
      // would add one more of it in each round. So it is left to the reconciler, or to the pump.
      case 'unreadable':
        if (this.#isForPaced) onUnreadable?.();
        else await this.#leave(due);
        return;
      case 'target':
        await this.#leave(due);
        onLeft?.();
    }
  }

  /** Looks up the endpoint of an attempt, and which of its deliveries are still to be sent. */
  look(due: DueAttempt): Promise<Found> {
    return this.use.lookup.look(due);
  }

  /** Makes ready what the attempt of an ordered delivery and of its followers needs, which may begin soon. */
  prepareInOrder(due: DueAttempt, found: Found): void {
    if (found.kind !== 'target' || !isOrdered(found.target.settings)) return;
    this.use.destination.prepare?.(inBatch(due, found), found.target, this.use.kit.clock.now());
  }

  /**
   * Makes the attempt of an ordered delivery and of its followers. Resolves once every record that follows is in Kafka.
   * @param found the endpoint, as it was looked up a moment ago
   * @param onResult called as soon as the lane can go on
   */
  async makeInOrder(
    due: DueAttempt,
    found: Found,
    flight: Flight,
    onSent: () => void,
    onResult: (result: OrderedResult) => void,
  ): Promise<void> {
    if (flight.isWithdrawn) {
      onResult({ kind: 'left' });
      return;
    }
    switch (found.kind) {
      case 'gone':
        onResult({ kind: 'done', deliveries: 1 });
        return;
      case 'superseded':
        // It may still wait, for a later attempt: the fact of an earlier one was late.
        onResult({ kind: 'left' });
        return;
      case 'unreadable':
        onResult({ kind: 'unreadable', untilMs: this.use.kit.clock.now() + UNREADABLE_WAIT_MS });
        return;
      case 'inactive': {
        const all = [due, ...(due.followers ?? [])];
        onResult({ kind: 'done', deliveries: all.length });
        await this.#append(
          all.map(({ delivery }) => this.#fact({ type: 'ended', delivery, run: 0, reason: 'endpoint_disabled' })),
        );
        return;
      }
      case 'target': {
        const { settings } = found.target;
        if (isOrdered(settings)) {
          if (await this.#push(inBatch(due, found), found.target, flight, onSent, onResult)) return;
          await this.makeInOrder(due, await this.look(due), flight, onSent, onResult);
          return;
        }
        onResult({ kind: 'left' });
        if (!isPaced(settings)) await this.#append([attemptRecord(this.use.kit.topics.attempts, due)]);
      }
    }
  }

  /** Leaves the attempt to others, which find it in the delivery log, or among the attempts if it was paced. */
  async #leave(due: DueAttempt): Promise<void> {
    if (this.#isForPaced) await this.#append([attemptRecord(this.use.kit.topics.attempts, due)]);
    else if (due.run === 0 && due.attempt === 1) {
      await this.#append([this.#fact({ type: 'scheduled', delivery: due.delivery })]);
    }
  }

  /** @returns whether the attempt is over; if not, the endpoint is to be looked up again */
  async #push(
    due: DueAttempt,
    target: Target,
    flight: Flight,
    onSent?: () => void,
    onResult?: (result: OrderedResult) => void,
  ): Promise<boolean> {
    const { topics, config, metrics, tracing, logger } = this.use.kit;
    const { destination, signal } = this.use;
    // The endpoint is not slow because all have to wait. Meanwhile it may change.
    if ((await destination.whenThere?.(target, signal)) === true) {
      signal.throwIfAborted();
      return false;
    }
    flight.posting();
    const outcome = await destination.attempt(due, target, signal, onSent);
    if (outcome === null) {
      flight.cut();
      signal.throwIfAborted();
      return false;
    }
    flight.answered();
    signal.throwIfAborted();
    const after =
      target.mcp === undefined
        ? decideAfterAttempt(due.attempt, outcome, config.retrySchedule, target.settings)
        : decideAfterCallback(due.attempt, outcome, config.retrySchedule);
    const accepted = after.kind === 'delivered' ? acceptedOf(due, outcome) : [];
    onResult?.(
      after.kind === 'retry'
        ? { kind: 'waits', untilMs: after.dueAtMs }
        : { kind: 'done', deliveries: 1 + accepted.length },
    );
    // Lets the lane write its next request before the facts of this one are made.
    if (accepted.length > 0) await setImmediate();
    const leadMs = attemptLeadMs(due, outcome.startedAtMs);
    const error = outcome.error === null ? null : errorText(outcome.error);
    const waitedFor: WaitedFor | undefined = onResult === undefined ? this.use.waitsFor : 'order';
    const ofAll = { target, outcome, after, batch: batchOf(due, target), waitedFor };
    const records = [
      this.#fact(attemptedFact(due, { ...ofAll, run: due.run, leadMs })),
      ...accepted.map((follower) =>
        this.#fact(
          attemptedFact(follower, { ...ofAll, run: due.run, leadMs: attemptLeadMs(follower, outcome.startedAtMs) }),
        ),
      ),
    ];
    const retryTopic = after.kind === 'retry' ? topics.retry[after.tier - 1] : undefined;
    if (after.kind === 'retry' && retryTopic !== undefined) {
      const next = { ...due, attempt: due.attempt + 1, dueAtMs: after.dueAtMs, leadMs };
      records.push(attemptRecord(retryTopic, next, after.waitUntilMs));
    }
    await this.#append(records);
    measureAttempt(metrics, due, outcome, after, this.#isForPaced);
    traceAttempt(tracing, due, outcome, after);
    logger.info(
      {
        org_id: due.delivery.orgId,
        endpoint_id: due.delivery.endpointId,
        delivery_id: due.delivery.deliveryId,
        event_id: due.delivery.eventId,
        trace_id: parseTraceParent(due.traceparent)?.traceId ?? null,
        run: due.run,
        attempt: due.attempt,
        outcome: after.kind,
        response_status: outcome.response?.code ?? null,
        error,
        duration_ms: outcome.durationMs,
        ...(accepted.length === 0 ? {} : { deliveries: 1 + accepted.length }),
      },
      'delivery.attempted',
    );
    return true;
  }

  #fact(fact: DeliveryFact): NewRecord {
    return factRecord(this.use.kit.topics.deliveries, fact);
  }

  /** Appends the records of an attempt, and retries until Kafka has them. */
  async #append(records: readonly NewRecord[]): Promise<void> {
    await untilItWorks(() => this.use.appender.append(records), {
      signal: this.use.signal,
      onFailure: (error, failures, waitMs) => {
        this.use.kit.logger.warn({ err: error, failures, wait_ms: waitMs }, 'dispatcher.waiting');
      },
    });
  }
}

/**
 * Returns the attempt with as many followers as the endpoint takes in a request, up to the first that is superseded, or to
 * a gap in its chain. A superseded one was skipped or replayed, or it waits for a later attempt. Then those after it wait,
 * too, so they are not sent without it. It becomes the head of its lane, which reads again what is pending.
 */
function inBatch(due: DueAttempt, { target: { settings }, endsBefore }: FoundTargetResult): DueAttempt {
  const followers = due.followers?.slice(0, (batchLimit(settings) ?? 1) - 1) ?? [];
  const end = followers.findIndex(
    ({ delivery }, nth) =>
      delivery.seq >= (endsBefore ?? Infinity) ||
      !followsInChain(delivery, followers[nth - 1]?.delivery ?? due.delivery),
  );
  return { ...due, followers: end === -1 ? followers : followers.slice(0, end) };
}

/** Returns the followers that the response accepts. */
function acceptedOf({ followers = [] }: DueAttempt, { acknowledged }: AttemptOutcome): readonly BatchedDelivery[] {
  return acknowledged === undefined ? followers : followers.slice(0, acknowledged - 1);
}

function batchOf({ delivery, followers = [] }: DueAttempt, { settings, mcp }: Target): Attempted['batch'] {
  if (mcp !== undefined || batchLimit(settings) === null) return undefined;
  return [delivery.seq, followers.at(-1)?.delivery.seq ?? delivery.seq];
}

interface OfAll {
  readonly target: Target;
  readonly outcome: AttemptOutcome;
  readonly after: AfterAttempt;
  readonly batch: Attempted['batch'];
  readonly run: number;
  readonly leadMs: number;
  readonly waitedFor: WaitedFor | undefined;
}

function attemptedFact(
  made: Pick<DueAttempt, 'delivery' | 'attempt' | 'dueAtMs' | 'leadMs'> & { readonly run?: number },
  { target, outcome, after, batch, run, leadMs, waitedFor }: OfAll,
): Attempted {
  const excerpt = outcome.response?.excerpt ?? null;
  const isFollower = made.run === undefined;
  return {
    type: 'attempted',
    delivery: made.delivery,
    run,
    attempt: made.attempt,
    activation: target.activation,
    startedAtMs: outcome.startedAtMs + leadMs,
    ...(leadMs === 0 ? {} : { leadMs }),
    dueAtMs: loggedDueMs(made),
    ...(waitedFor === undefined ? {} : { waitedFor }),
    durationMs: outcome.durationMs,
    responseStatus: outcome.response?.code ?? null,
    error: outcome.error === null ? null : errorText(outcome.error),
    responseExcerpt: isFollower && (excerpt?.length ?? 0) > SHORT_EXCERPT ? null : excerpt,
    next: after.kind,
    nextAttemptAtMs: after.kind === 'retry' ? after.dueAtMs + leadMs : null,
    ...(batch === undefined ? {} : { batch }),
    ...(after.kind === 'exhausted' && after.disables === true ? { disables: true } : {}),
  };
}
