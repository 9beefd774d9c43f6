import { applyDecorators, Catch, UseFilters, type ArgumentsHost, type RpcExceptionFilter } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { throwError, type Observable } from 'rxjs';
import type { TopicNames } from '../topics/topics.js';

/** Marks the handlers that `KafkaBatchServer` serves. */
export const KAFKA_BATCHES = Symbol('KAFKA_BATCHES');

export interface KafkaBatchesOptions {
  /** The consumer group, without the topic prefix. One handler makes up one group. */
  readonly group: string;
  readonly topics: (names: TopicNames) => readonly string[];
  /** Picks further topics from those that the broker has when the process starts. */
  readonly found?: (names: TopicNames, onBroker: readonly string[]) => readonly string[];
  /** `after` (default): the offset moves when the handler returns; `handler`: the handler commits by itself. */
  readonly commits?: 'after' | 'handler';
  /** `given`: batches that cannot be read are handed over like records, for the dead letters; otherwise they stop their partition. */
  readonly unreadable?: 'given';
  /** Lets the broker hold records back for some time, so that they come in larger batches. */
  readonly gather?: { readonly bytes: number; readonly waitMs: number };
}

/** The transport decides what a failure means (it calls the handler again), so Nest must hand it over as it is. */
@Catch()
class HandOverFailure implements RpcExceptionFilter<unknown> {
  catch(error: unknown, _host: ArgumentsHost): Observable<never> {
    return throwError(() => error);
  }
}

/**
 * A method `(@Payload() batch: RecordBatch, @Ctx() context: BatchContext) => Promise<Handled>` that is given the records of a consumer
 * group, batch by batch. A batch may come again, so handling it twice must change nothing.
 */
export function KafkaBatches(options: KafkaBatchesOptions): MethodDecorator {
  return applyDecorators(
    EventPattern(options.group, KAFKA_BATCHES, { kafkaBatches: options }) as MethodDecorator,
    UseFilters(new HandOverFailure()),
  );
}
