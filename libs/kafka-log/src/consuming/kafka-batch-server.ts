import { Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import { firstValueFrom, isObservable } from 'rxjs';
import type { Clock } from '#libs/domain';
import type { HealthBoard, Logger } from '#libs/runtime';
import { BatchConsumer, type BatchContext, type Handled } from './batch-consumer.js';
import { KAFKA_BATCHES, type KafkaBatchesOptions } from './kafka-batches.js';
import type { ConsumerSessions } from './consumer-sessions.js';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import { LagMeter } from './lag-meter.js';
import type { PositionSources } from '../positions/position-sources.js';
import type { RecordBatch } from '../records/record.js';
import type { TopicNames } from '../topics/topics.js';

export interface KafkaBatchServerOptions {
  readonly connection: KafkaConnection;
  readonly topics: TopicNames;
  /** Consumer groups are called `<prefix>-<group>`. */
  readonly prefix: string;
  readonly logger: Logger;
  readonly health: HealthBoard;
  readonly sessions: ConsumerSessions;
  readonly positions: PositionSources;
  readonly clock: Clock;
}

function optionsOf(handler: MessageHandler): KafkaBatchesOptions {
  const extras = handler.extras as { readonly kafkaBatches: KafkaBatchesOptions };
  return extras.kafkaBatches;
}

/**
 * Nest's transport for batches of Kafka records: one consumer for each `@KafkaBatches` handler. Nest's own Kafka server
 * handles one message at a time, which costs a round trip to Postgres or Kafka each.
 */
export class KafkaBatchServer extends Server implements CustomTransportStrategy {
  override readonly transportId = KAFKA_BATCHES;
  override readonly propagatesEventHandlerErrors = true;
  readonly #consumers: BatchConsumer[] = [];

  constructor(private readonly options: KafkaBatchServerOptions) {
    super();
  }

  listen(callback: (error?: unknown) => void): void {
    const { connection, clock } = this.options;
    const meter = new LagMeter(connection, this.#consumers, clock);
    connection.metrics.beforeScrape(() => meter.measure());
    Promise.all([...this.messageHandlers.values()].map((handler) => this.#serve(handler))).then(
      () => {
        callback();
      },
      (error: unknown) => {
        callback(error);
      },
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.stop()));
  }

  on(): never {
    throw new Error('KafkaBatchServer emits no events');
  }

  unwrap(): never {
    throw new Error('KafkaBatchServer has no client of its own');
  }

  async #serve(handler: MessageHandler): Promise<void> {
    const { group, topics, found, commits, gather, unreadable } = optionsOf(handler);
    const own = topics(this.options.topics);
    const consumer = new BatchConsumer(
      this.options.connection,
      {
        groupId: `${this.options.prefix}-${group}`,
        group,
        topics: found === undefined ? own : async () => [...new Set([...own, ...(await this.#former(group, found))])],
        commits: commits ?? 'after',
        ...(gather === undefined ? {} : { gather }),
        ...(unreadable === undefined ? {} : { unreadable }),
        handle: (batch, context) => this.#call(handler, batch, context),
        positions: this.options.positions.of(group),
        onSession: (session) => {
          if (session === null) this.options.sessions.left(group);
          else this.options.sessions.joined(group, session);
        },
        onRelease: () => this.options.sessions.release(group),
      },
      this.options.logger,
      this.options.health,
    );
    this.#consumers.push(consumer);
    await consumer.start();
  }

  async #former(group: string, found: NonNullable<KafkaBatchesOptions['found']>): Promise<readonly string[]> {
    const { connection, topics, logger } = this.options;
    const former = found(topics, await connection.withAdmin((admin) => admin.listTopics()));
    if (former.length > 0) logger.info({ group, topics: former }, 'consumer.reads_former_topics');
    return former;
  }

  async #call(handler: MessageHandler, batch: RecordBatch, context: BatchContext): Promise<Handled> {
    const result: unknown = await handler(batch, context);
    const handled: unknown = isObservable(result) ? await firstValueFrom(result, { defaultValue: undefined }) : result;
    return handled as Handled;
  }
}
