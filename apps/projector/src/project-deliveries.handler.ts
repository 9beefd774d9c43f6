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
  type NewRecord,
  type RecordBatch,
} from '#libs/kafka-log';
import { ProjectionPlace, StageKit } from '#libs/platform';

/** Folds the delivery facts into the delivery log and the endpoints' health. */
@Controller()
export class ProjectDeliveriesHandler {
  readonly #projection: DeliveryProjection;
  readonly #place: ProjectionPlace;

  constructor(
    store: Store,
    positions: PositionSources,
    connection: KafkaConnection,
    private readonly appender: Appender,
    private readonly kit: StageKit,
  ) {
    const { topics, config, clock } = kit;
    kit.metrics.add('gapless_produced_records_total', { topic: topicRole(topics.deadLetter) }, 0);
    const logEnds = new OrgLogEnds(connection, topics.log, config.partitions);
    const logEndsOf = (orgIds: readonly OrgId[]) => logEnds.of(orgIds);
    this.#projection = new DeliveryProjection(store, config.autoDisableAfter, 'report', logEndsOf, clock);
    this.#place = new ProjectionPlace('deliveries', kit);
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
    const unreadable: NewRecord[] = [];
    const { deadLetter } = this.kit.topics;
    for (const record of batch.records) {
      const fact = record.unreadable === undefined ? decodeFact(record.value) : undefined;
      if (fact !== undefined) facts.push({ offset: record.offset, fact });
      else if (record.unreadable !== undefined)
        unreadable.push(unreadableBatchRecord(deadLetter, record, record.unreadable));
      else unreadable.push(deadLetterRecord(deadLetter, record, 'malformed_request', 'not a delivery fact'));
    }
    await this.appender.append(unreadable);
    if (unreadable.length > 0) {
      const { partition } = batch;
      this.kit.logger.warn(
        { partition, from: batch.records[0]?.offset, records: unreadable.length },
        'projector.dead_letters',
      );
    }
    return this.#place.project(batch, context, (stretch) => this.#projection.apply(stretch, facts));
  }
}
