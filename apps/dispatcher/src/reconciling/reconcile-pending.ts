import { Injectable } from '@nestjs/common';
import { OverdueDeliveries } from '#libs/postgres';
import { Appender, ConsumerSessions, KafkaConnection, LogPositions, ROUTER_GROUP } from '#libs/kafka-log';
import { RegularWork, StageKit } from '#libs/platform';
import { MAIN_GROUP, SLOW_GROUP } from '../dispatcher.js';
import { RETRY_GROUP } from '../attempts/forward-retries.handler.js';
import { LaneBacklog } from '../lanes/lane-backlog.js';
import { LaneProof } from '../lanes/lane-proof.js';
import { OVERDUE_MS, Reconciler } from './reconciler.js';

const ROUND_EVERY_MS = 20_000;
/** The pause between two rounds while there is more to do. */
const NEXT_ROUND_MS = 1_000;
/** How long to wait for a lane: longer than an attempt takes, so a lane without a backlog passes what it held. */
const PATIENCE_MS = 15_000;

/** Runs the rounds of the reconciler in one process at a time: the owner of the first partition of the attempts. */
@Injectable()
export class ReconcilePending extends RegularWork {
  readonly #ending = new AbortController();
  readonly #reconciler: Reconciler;

  constructor(
    overdue: OverdueDeliveries,
    connection: KafkaConnection,
    appender: Appender,
    private readonly sessions: ConsumerSessions,
    private readonly kit: StageKit,
  ) {
    super({ everyMs: ROUND_EVERY_MS });
    const { config, topics, clock, logger, metrics } = kit;
    const named = (group: string) => `${config.topicPrefix}-${group}`;
    const { signal } = this.#ending;
    const proof = new LaneProof(
      {
        overdue,
        positions: new LogPositions(connection),
        topics,
        partitions: config.partitions,
        groups: {
          router: named(ROUTER_GROUP),
          retry: named(RETRY_GROUP),
          main: named(MAIN_GROUP),
          slow: named(SLOW_GROUP),
        },
        backlogs: {
          main: new LaneBacklog(connection, topics.attempts),
          slow: new LaneBacklog(connection, topics.attemptsSlow),
        },
        clock,
        signal,
      },
      PATIENCE_MS,
    );
    this.#reconciler = new Reconciler(OVERDUE_MS, { overdue, proof, appender, topics, clock, logger, metrics, signal });
    metrics.add('gapless_attempts_reconciled_total', {}, 0);
    metrics.add('gapless_reconciler_failures_total', {}, 0);
    metrics.set('gapless_reconciler_endpoints_waiting', {}, 0);
  }

  override onApplicationBootstrap(): void {
    // Set the timestamp at the start, so that a reconciler that never finishes a round is noticed.
    this.#looked();
    super.onApplicationBootstrap();
  }

  override async beforeApplicationShutdown(): Promise<void> {
    this.#ending.abort(new Error('the process ends'));
    await super.beforeApplicationShutdown();
  }

  protected async act(): Promise<number | undefined> {
    if (this.sessions.of(MAIN_GROUP)?.assigned[this.kit.topics.attempts]?.includes(0) !== true) {
      // Another process may count them now.
      this.kit.metrics.set('gapless_reconciler_endpoints_waiting', {}, 0);
      return undefined;
    }
    const { isMore } = await this.#reconciler.round();
    this.#looked();
    return isMore ? NEXT_ROUND_MS : undefined;
  }

  protected failed(error: unknown, failures: number, waitMs: number): void {
    this.kit.metrics.add('gapless_reconciler_failures_total', {});
    this.kit.logger.warn({ err: error, failures, wait_ms: waitMs }, 'reconciler.failed');
  }

  #looked(): void {
    this.kit.metrics.set('gapless_reconciler_last_look_timestamp_seconds', {}, this.kit.clock.now() / 1_000);
  }
}
