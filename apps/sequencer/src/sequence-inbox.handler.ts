import {
  Controller,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { projectedPositions, Store } from '#libs/postgres';
import {
  Appender,
  ConsumerSessions,
  KafkaBatches,
  KafkaConnection,
  parseAnchor,
  PartitionWriter,
  SEQUENCER_GROUP,
  topicRole,
  type BatchContext,
  type ConsumerSession,
  type Handled,
  type RecordBatch,
} from '#libs/kafka-log';
import { StageKit } from '#libs/platform';
import { Regularly } from '#libs/runtime';
import { CheckedContinuity } from './log-continuity.js';
import { LeaseLostError, Sequencer } from './sequencer.js';

/** How often newly assigned partitions are restored, so that their first event need not wait for it. */
const RESTORE_EVERY_MS = 500;
const CHECKPOINT_EVERY_MS = 30_000;

/** Feeds the inbox to the sequencer. */
@Controller()
export class SequenceInboxHandler implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown {
  readonly #writer: PartitionWriter;
  readonly #sequencer: Sequencer;
  readonly #works: readonly Regularly[];
  #ended: Promise<unknown> = Promise.resolve();

  constructor(
    connection: KafkaConnection,
    appender: Appender,
    store: Store,
    private readonly sessions: ConsumerSessions,
    private readonly kit: StageKit,
  ) {
    const { topics, clock, logger, tracing } = kit;
    connection.metrics.add('gapless_sequencer_repeats_total', {}, 0);
    connection.metrics.add('gapless_sequencer_old_stamps_total', {}, 0);
    connection.metrics.add('gapless_sequencer_checkpoint_failures_total', {}, 0);
    connection.metrics.add('gapless_produced_records_total', { topic: topicRole(topics.deadLetter) }, 0);
    this.#writer = new PartitionWriter(connection);
    const continuity = new CheckedContinuity({
      connection,
      topics,
      projected: async (partitions) => {
        await store.feed.settled();
        // Without their positions, nothing is written to partitions that come new to this process.
        for (const partition of partitions) store.feed.ofPartition(partition);
        return projectedPositions(store, 'feed', topics.log, parseAnchor, partitions);
      },
      byDatabase: (partitions) => store.feed.groupPartitions(partitions),
    });
    const use = { connection, topics, writer: this.#writer, appender, clock, logger, tracing, continuity };
    this.#sequencer = new Sequencer(use);
    this.#works = [
      this.#every(RESTORE_EVERY_MS, (session) => this.#sequencer.restoreAssigned(session)),
      this.#every(CHECKPOINT_EVERY_MS, (session) => this.#sequencer.checkpointAll(session)),
    ];
  }

  @KafkaBatches({ group: SEQUENCER_GROUP, topics: (names) => [names.inbox], unreadable: 'given' })
  async handle(@Payload() batch: RecordBatch, @Ctx() context: BatchContext): Promise<Handled> {
    const session = this.sessions.of(SEQUENCER_GROUP);
    if (session?.generation !== context.generation) throw new LeaseLostError('the assignment has changed');
    const resumeAt = await this.#sequencer.sequence(batch.partition, batch.records, session);
    if (resumeAt === undefined) return undefined;
    context.seek(batch.topic, batch.partition, resumeAt);
    return { kind: 'later', nextOffset: batch.records[0]?.offset ?? 0, waitMs: 0 };
  }

  onApplicationBootstrap(): void {
    for (const work of this.#works) work.start();
  }

  beforeApplicationShutdown(): void {
    // A restoration may wait for unreachable brokers. The consumer must not wait with it.
    this.#ended = Promise.all(this.#works.map((work) => work.stop()));
  }

  /** Runs after the consumer has stopped. */
  async onApplicationShutdown(): Promise<void> {
    await this.#ended;
    await this.#writer.close();
  }

  #every(everyMs: number, act: (session: ConsumerSession) => Promise<void>): Regularly {
    return new Regularly({
      everyMs,
      act: async () => {
        const session = this.sessions.of(SEQUENCER_GROUP);
        if (session?.holdsLease() === true) await act(session);
        return undefined;
      },
      onFailure: (error) => {
        this.kit.logger.warn({ err: error }, 'sequencer.waiting');
      },
    });
  }
}
