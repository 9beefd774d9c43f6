import { Controller, Inject } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import {
  deliveryIdOf,
  EndpointShares,
  receives,
  SeqGate,
  type Clock,
  type LogEvent,
  type Subscriber,
} from '#libs/domain';
import { EndpointDirectory, SecretCipher, Store } from '#libs/feed-store';
import {
  Appender,
  attemptRecord,
  factRecord,
  KafkaBatches,
  readLogRecord,
  type Handled,
  type NewRecord,
  type RecordBatch,
  type TopicNames,
} from '#libs/kafka-log';
import { Metrics } from '#libs/metrics';
import { CLOCK, TOPICS, TRACING } from '#libs/platform';
import { BatchTrace, type Tracing } from '#libs/tracing';

/** Finds who receives each event of the log, and schedules a delivery and its first attempt for each of them. */
@Controller()
export class RouteLogHandler {
  readonly #gate = new SeqGate();
  readonly #endpoints: EndpointDirectory;

  constructor(
    store: Store,
    cipher: SecretCipher,
    private readonly appender: Appender,
    private readonly metrics: Metrics,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(TRACING) private readonly tracing: Tracing,
  ) {
    this.#endpoints = new EndpointDirectory(store, cipher);
    metrics.add('gapless_deliveries_scheduled_total', {}, 0);
  }

  /** A batch that comes again names the same deliveries, so that it changes nothing. */
  @KafkaBatches({ group: 'router', topics: (names) => [names.log] })
  async handle(@Payload() batch: RecordBatch): Promise<Handled> {
    const trace = new BatchTrace(this.tracing, 'route', this.clock.now());
    const events = batch.records.map((record) => ({ ...readLogRecord(record), appendedAtMs: record.timestampMs }));
    const { fresh, remember } = this.#gate.sift(events);
    const subscribers = await this.#endpoints.subscribersOf([...new Set(fresh.map((event) => event.orgId))]);
    const shares = new EndpointShares();
    const deliveries = fresh.flatMap((event) =>
      this.#route(
        { ...event, traceparent: trace.follow(event.traceparent, event) },
        event.appendedAtMs,
        subscribers.get(event.orgId) ?? [],
        shares,
      ),
    );
    await this.appender.append(deliveries.flat());
    trace.end(this.clock.now());
    this.metrics.add('gapless_deliveries_scheduled_total', {}, deliveries.length);
    remember();
    return undefined;
  }

  /** What makes up each delivery of the event. What is beyond an endpoint's share goes to the slow lane at once. */
  #route(
    event: LogEvent,
    appendedAtMs: number,
    subscribers: readonly Subscriber[],
    shares: EndpointShares,
  ): readonly (readonly NewRecord[])[] {
    return subscribers
      .filter((subscriber) => receives(subscriber, event))
      .map(({ id: endpointId }) => {
        const delivery = {
          deliveryId: deliveryIdOf(event.id, endpointId),
          endpointId,
          orgId: event.orgId,
          eventId: event.id,
          event: event.event,
          seq: event.seq,
          createdAtMs: appendedAtMs,
        };
        return [
          factRecord(this.topics.deliveries, { type: 'scheduled', delivery }),
          attemptRecord(shares.take(endpointId) ? this.topics.attempts : this.topics.attemptsSlow, {
            delivery,
            run: 0,
            attempt: 1,
            dueAtMs: appendedAtMs,
            traceparent: event.traceparent,
            envelope: event.envelope,
          }),
        ];
      });
  }
}
