import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { decodeFact, type OrgId } from '#libs/domain';
import { begunPositions, DeliveryProjection, Store, type FactAtOffset } from '#libs/postgres';
import {
  Appender,
  deadLetterRecord,
  KafkaBatches,
  KafkaConnection,
  OrgLogEnds,
  parseAnchor,
  PositionSources,
  topicRole,
  unreadableBatchRecord,
  type BatchContext,
  type Handled,
  type RecordBatch,
  type StoredRecord,
} from '#libs/kafka-log';
import { ProjectionPlace, StageKit } from '#libs/platform';
import { DeadLetters } from './dead-letters.js';

/** Folds the delivery facts into the delivery log and the endpoints' health. */
@Controller()
export class ProjectDeliveriesHandler {
  readonly #projection: DeliveryProjection;
  readonly #place: ProjectionPlace;
  readonly #deadLetters: DeadLetters;

  constructor(
    store: Store,
    positions: PositionSources,
    connection: KafkaConnection,
    appender: Appender,
    private readonly kit: StageKit,
  ) {
    const { topics, config, clock } = kit;
    kit.metrics.add('gapless_produced_records_total', { topic: topicRole(topics.deadLetter) }, 0);
    const logEnds = new OrgLogEnds(connection, topics.log, config.partitions);
    const logEndsOf = (orgIds: readonly OrgId[]) => logEnds.of(orgIds);
    this.#projection = new DeliveryProjection(store, config.autoDisableAfter, 'report', logEndsOf, clock);
    this.#place = new ProjectionPlace('deliveries', kit);
    this.#deadLetters = new DeadLetters(appender);
    positions.provide('projector-deliveries', (topic, partitions) =>
      begunPositions(store, 'deliveries', topic, partitions, parseAnchor),
    );
  }

  // A delivery is scheduled and attempted within milliseconds. Gathering both facts saves a transaction.
  @KafkaBatches({
    group: 'projector-deliveries',
    topics: (names) => [names.deliveries],
    unreadable: 'given',
    gather: { bytes: 64 * 1024, waitMs: 50 },
  })
  async handle(@Payload() batch: RecordBatch, @Ctx() context: BatchContext): Promise<Handled> {
    const facts: FactAtOffset[] = [];
    const others: StoredRecord[] = [];
    for (const record of batch.records) {
      const fact = record.unreadable === undefined ? decodeFact(record.value) : undefined;
      if (fact === undefined) others.push(record);
      else facts.push({ offset: record.offset, fact });
    }
    const { partition } = batch;
    const { deadLetter } = this.kit.topics;
    const written = await this.#deadLetters.write({ partition, generation: context.generation }, others, (record) =>
      record.unreadable === undefined
        ? deadLetterRecord(deadLetter, record, 'malformed_request', 'not a delivery fact')
        : unreadableBatchRecord(deadLetter, record, record.unreadable),
    );
    if (written.length > 0) {
      this.kit.logger.warn({ partition, from: written[0]?.offset, records: written.length }, 'projector.dead_letters');
    }
    return this.#place.project(batch, context, (stretch) => this.#projection.apply(stretch, facts));
  }
}
