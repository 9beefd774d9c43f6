import { Injectable } from '@nestjs/common';
import { AlertClaims, AlertOutbox, ChatQueueProjection } from '#libs/postgres';
import {
  Appender,
  ConsumerSessions,
  KafkaConnection,
  KeptAdmin,
  LogPositions,
  PartitionWriter,
  SEQUENCER_GROUP,
} from '#libs/kafka-log';
import { RegularWork, StageKit } from '#libs/platform';
import { HealthBoard } from '#libs/runtime';
import { AlertPublisher } from './alert-publisher.js';
import { CaughtUpPartitions } from './caught-up-partitions.js';
import { EarlySweeps, PREPARED_MS } from './early-sweeps.js';
import { FoldedInbox } from './folded-inbox.js';
import { Sweep, type SweepOptions, type Swept } from './sweep.js';
import { sweptInTimeUntil } from './swept-in-time.js';

/** How long a sweep waits for partitions that lag, milliseconds: the fold gathers records before it applies them. */
const PATIENCE_MS = 5_000;
/**
 * How long one more sweep waits for those. While a stage lags by less, alerts are late, but each is raised: sweeps that
 * give up earlier would give up each time. A stage that lags by more raises an alert of its own.
 */
const LONGEST_PATIENCE_MS = 30_000;

/** The consumer group of the fold. */
const GROUP = 'alerting';
/** The sweeps in the health of the process. */
const HEALTH_PART = 'sweeps of waiting chats';
/** How long the fold does not gather records, from a moment before a threshold on, milliseconds. */
const HURRY_MS = PREPARED_MS + 1_000;

/** Sweeps at the configured interval, one such sweep at a time, and when a chat passes a threshold. */
@Injectable()
export class SweepRegularly extends RegularWork {
  readonly #ending = new AbortController();
  readonly #writer: PartitionWriter;
  readonly #admin: KeptAdmin;
  readonly #sweep: Sweep;
  readonly #early: EarlySweeps;
  /** The sweep of partitions that lag; `null` while there is none. */
  #patient: Promise<void> | null = null;
  /** When each partition was last swept, epoch milliseconds. At first, when the process started. */
  readonly #sweptAt: Map<number, number>;

  constructor(
    projection: ChatQueueProjection,
    claims: AlertClaims,
    outbox: AlertOutbox,
    connection: KafkaConnection,
    appender: Appender,
    folded: FoldedInbox,
    sessions: ConsumerSessions,
    private readonly kit: StageKit,
    private readonly health: HealthBoard,
  ) {
    super({ everyMs: kit.config.sweepIntervalMs });
    const { config, topics, clock, logger, metrics } = kit;
    const partitions = Array.from({ length: config.partitions }, (_, partition) => partition);
    this.#sweptAt = new Map(partitions.map((partition) => [partition, clock.now()]));
    metrics.beforeScrape(() => {
      const untilMs = sweptInTimeUntil(this.#sweptAt.values(), config.sweepIntervalMs, clock.now());
      metrics.set('gapless_alerting_swept_timestamp_seconds', {}, untilMs / 1_000);
    });
    this.#admin = new KeptAdmin(connection);
    const positions = new LogPositions(this.#admin);
    this.#writer = new PartitionWriter(connection);
    this.#sweep = new Sweep({
      caughtUp: new CaughtUpPartitions({
        positions,
        projection,
        folded,
        topics,
        sequencerGroup: `${config.topicPrefix}-${SEQUENCER_GROUP}`,
        patienceMs: PATIENCE_MS,
        signal: this.#ending.signal,
      }),
      claims,
      publisher: new AlertPublisher({
        outbox,
        connection,
        positions,
        appender,
        writer: this.#writer,
        topics,
        clock,
        logger,
      }),
      mails: config.smtpUrl !== null,
      clock,
      logger,
      metrics,
    });
    this.#early = new EarlySweeps({
      owned: () => sessions.of(GROUP)?.assigned[topics.log] ?? [],
      lookUp: (...stretch) => claims.thresholds(...stretch),
      prepare: () => {
        sessions.of(GROUP)?.hurry?.(HURRY_MS);
        void this.#admin.prepare();
      },
      sweep: async (among) => {
        sessions.of(GROUP)?.hurry?.(HURRY_MS);
        return this.#swept(await this.#sweep.round({ among, batches: 1 }));
      },
      onFailure: (error) => {
        this.failed(error);
      },
      clock,
    });
    // The partitions of another process come with thresholds that this one has not seen.
    sessions.afterJoin(GROUP, () => {
      this.#early.look(0);
    });
    folded.onWaiting = (...waiting) => {
      this.#early.waits(...waiting);
    };
  }

  override async beforeApplicationShutdown(): Promise<void> {
    this.#ending.abort(new Error('the process ends'));
    await Promise.all([super.beforeApplicationShutdown(), this.#early.stop()]);
    await this.#patient;
    await this.#admin.close();
    await this.#writer.close();
  }

  protected async act(signal: AbortSignal): Promise<number | undefined> {
    const startedAt = performance.now();
    const nowMs = this.kit.clock.now();
    const { partitions } = await this.#sweepAll({ signal });
    const lagging = [...this.#sweptAt.keys()].filter((partition) => !partitions.includes(partition));
    if (lagging.length > 0) {
      const options = { among: new Set(lagging), patienceMs: LONGEST_PATIENCE_MS, signal };
      this.#patient ??= this.#sweepAll(options)
        .then(
          () => undefined,
          (error: unknown) => {
            if (!signal.aborted) this.failed(error);
          },
        )
        .finally(() => {
          this.#patient = null;
        });
    }
    this.#early.look(nowMs);
    const durationMs = Math.round(performance.now() - startedAt);
    return Math.max(0, this.kit.config.sweepIntervalMs - durationMs);
  }

  /** Sweeps the partitions until nothing is due. */
  async #sweepAll(options: SweepOptions): Promise<Swept> {
    const nowMs = this.kit.clock.now();
    const swept = this.#swept(await this.#sweep.round(options));
    for (const partition of swept.partitions) {
      if (this.#sweptAt.has(partition) && !swept.failures.has(partition)) this.#sweptAt.set(partition, nowMs);
    }
    const [failure] = swept.failures.values();
    if (swept.failures.size === 0) this.health.ready(HEALTH_PART);
    else this.failed(failure);
    return swept;
  }

  #swept(swept: Swept): Swept {
    const { workedMs, failures, ...counts } = swept;
    this.kit.logger.debug({ ...counts, failed: [...failures.keys()], worked_ms: workedMs }, 'alerting.swept');
    return swept;
  }

  protected failed(error: unknown): void {
    // Requests and the other stages of the process go on.
    this.health.degraded(HEALTH_PART, 'the last one failed: see alerting.waiting in the log');
    this.kit.logger.warn({ err: error }, 'alerting.waiting');
  }
}
