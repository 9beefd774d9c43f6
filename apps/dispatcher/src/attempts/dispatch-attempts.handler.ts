import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { KafkaBatches, type BatchContext, type Handled, type RecordBatch } from '#libs/kafka-log';
import { Dispatcher, MAIN_GROUP, SLOW_GROUP } from '../dispatcher.js';

/** Feeds attempts that are due to the lane that makes them. */
@Controller()
export class DispatchAttemptsHandler {
  constructor(private readonly dispatcher: Dispatcher) {}

  @KafkaBatches({ group: MAIN_GROUP, topics: (names) => [names.attempts], commits: 'handler', unreadable: 'given' })
  async main(@Payload() batch: RecordBatch, @Ctx() context: BatchContext): Promise<Handled> {
    return this.dispatcher.main.feed(batch, context);
  }

  @KafkaBatches({ group: SLOW_GROUP, topics: (names) => [names.attemptsSlow], commits: 'handler', unreadable: 'given' })
  async slow(@Payload() batch: RecordBatch, @Ctx() context: BatchContext): Promise<Handled> {
    return this.dispatcher.slow.feed(batch, context);
  }
}
