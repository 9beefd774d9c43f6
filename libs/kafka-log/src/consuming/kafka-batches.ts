import { applyDecorators, Catch, UseFilters, type ArgumentsHost, type RpcExceptionFilter } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { throwError, type Observable } from 'rxjs';
import type { TopicNames } from '../topics/topics.js';

/** Marks the handlers that `KafkaBatchServer` serves. */
export const KAFKA_BATCHES = Symbol('KAFKA_BATCHES');

export interface KafkaBatchesOptions {
  /** The consumer group, without the topic prefix. Each group has one handler. */
  readonly group: string;
  readonly topics: (names: TopicNames) => readonly string[];
  /** Selects further topics to read from those on the broker, each time that the consumer is made. */
  readonly found?: (names: TopicNames, onBroker: readonly string[]) => readonly string[];
  /** `after` (default): the offset moves when the handler returns; `handler`: the handler commits itself. */
  readonly commits?: 'after' | 'handler';
  /**
   * `given`: unreadable batches are handed over like records, for the dead letters; otherwise they stop their
   * partition.
   */
  readonly unreadable?: 'given';
  /** Lets the broker wait for more records, so that batches are larger. */
  readonly gather?: { readonly bytes: number; readonly waitMs: number };
}

/** Rethrows errors to the transport, which calls the handler again. */
@Catch()
class HandOverFailure implements RpcExceptionFilter<unknown> {
  catch(error: unknown, _host: ArgumentsHost): Observable<never> {
    return throwError(() => error);
  }
}

/**
 * Marks a method `(@Payload() batch: RecordBatch, @Ctx() context: BatchContext) => Promise<Handled>` as the handler of
 * a consumer group's batches. A batch may come again, so handling must be idempotent.
 */
export function KafkaBatches(options: KafkaBatchesOptions): MethodDecorator {
  return applyDecorators(
    EventPattern(options.group, KAFKA_BATCHES, { kafkaBatches: options }) as MethodDecorator,
    UseFilters(new HandOverFailure()),
  );
}
