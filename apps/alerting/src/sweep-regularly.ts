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
import { AlertPublisher } from './alert-publisher.js';
import { CaughtUpPartitions } from './caught-up-partitions.js';
import { EarlySweeps, PREPARED_MS } from './early-sweeps.js';
import { FoldedInbox } from './folded-inbox.js';
import { Sweep, type Swept } from './sweep.js';

/**
 * The least time that a sweep waits for partitions that lag, because the fold gathers records before it applies them.
 */
const LEAST_PATIENCE_MS = 5_000;

/** The consumer group of the fold. */
const GROUP = 'alerting';
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

  constructor(
    projection: ChatQueueProjection,
    claims: AlertClaims,
    outbox: AlertOutbox,
    connection: KafkaConnection,
    appender: Appender,
    folded: FoldedInbox,
    sessions: ConsumerSessions,
    private readonly kit: StageKit,
  ) {
    super({ everyMs: kit.config.sweepIntervalMs });
    const { config, topics, clock, logger, metrics } = kit;
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
        patienceMs: Math.max(LEAST_PATIENCE_MS, config.sweepIntervalMs),
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
    await this.#admin.close();
    await this.#writer.close();
  }

  protected async act(): Promise<number | undefined> {
    const startedAt = performance.now();
    const nowMs = this.kit.clock.now();
    this.#swept(await this.#sweep.round());
    this.#early.look(nowMs);
    const durationMs = Math.round(performance.now() - startedAt);
    return Math.max(0, this.kit.config.sweepIntervalMs - durationMs);
  }

  #swept(swept: Swept): Swept {
    const { workedMs, ...counts } = swept;
    this.kit.logger.debug({ ...counts, worked_ms: workedMs }, 'alerting.swept');
    return swept;
  }

  protected failed(error: unknown): void {
    this.kit.logger.warn({ err: error }, 'alerting.waiting');
  }
}
