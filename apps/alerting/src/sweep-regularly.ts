import { Injectable } from '@nestjs/common';
import { AlertClaims, AlertOutbox, ChatQueueProjection, Store } from '#libs/postgres';
import { Appender, KafkaConnection, LogPositions, PartitionWriter, SEQUENCER_GROUP } from '#libs/kafka-log';
import { RegularWork, StageKit } from '#libs/platform';
import { AlertPublisher } from './alert-publisher.js';
import { CaughtUpPartitions } from './caught-up-partitions.js';
import { Sweep } from './sweep.js';

/**
 * The least time that a sweep waits for partitions that lag, because the fold gathers records before it applies them.
 */
const LEAST_PATIENCE_MS = 5_000;

/** Sweeps at the configured interval, one sweep at a time. */
@Injectable()
export class SweepRegularly extends RegularWork {
  readonly #ending = new AbortController();
  readonly #writer: PartitionWriter;
  readonly #sweep: Sweep;

  constructor(
    private readonly store: Store,
    projection: ChatQueueProjection,
    claims: AlertClaims,
    outbox: AlertOutbox,
    connection: KafkaConnection,
    appender: Appender,
    private readonly kit: StageKit,
  ) {
    super({ everyMs: kit.config.sweepIntervalMs });
    const { config, topics, clock, logger, metrics } = kit;
    const positions = new LogPositions(connection);
    this.#writer = new PartitionWriter(connection);
    this.#sweep = new Sweep({
      caughtUp: new CaughtUpPartitions({
        positions,
        projection,
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
  }

  override async beforeApplicationShutdown(): Promise<void> {
    this.#ending.abort(new Error('the process ends'));
    await super.beforeApplicationShutdown();
    await this.#writer.close();
  }

  protected async act(): Promise<number | undefined> {
    if (!this.store.isOpen) return undefined;
    const startedAt = performance.now();
    const swept = await this.#sweep.round();
    const durationMs = Math.round(performance.now() - startedAt);
    this.kit.logger.debug({ ...swept, duration_ms: durationMs }, 'alerting.swept');
    return Math.max(0, this.kit.config.sweepIntervalMs - durationMs);
  }

  protected failed(error: unknown): void {
    this.kit.logger.warn({ err: error }, 'alerting.waiting');
  }
}
