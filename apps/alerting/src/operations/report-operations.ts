import { Injectable } from '@nestjs/common';
import { FeedReader, OperationalOutbox } from '#libs/postgres';
import { Appender, KeyPlaces } from '#libs/kafka-log';
import { RegularWork, StageKit } from '#libs/platform';
import { PublishOperationalEvents } from './publish-operational-events.js';

const EVERY_MS = 1_000;
/** Without an organization that gets them, noted events are only deleted. */
const FORGET_EVERY_MS = 60_000;

/** Reports what happened to endpoints to the operations organization, every second. */
@Injectable()
export class ReportOperations extends RegularWork {
  readonly #events: PublishOperationalEvents;

  constructor(
    outbox: OperationalOutbox,
    feed: FeedReader,
    appender: Appender,
    private readonly kit: StageKit,
  ) {
    super({ everyMs: kit.config.operationsOrgId === null ? FORGET_EVERY_MS : EVERY_MS });
    const { config, topics, clock, metrics } = kit;
    this.#events = new PublishOperationalEvents({
      outbox,
      feed,
      appender,
      places: new KeyPlaces(config.partitions),
      topics,
      operationsOrg: config.operationsOrgId,
      clock,
      metrics,
    });
  }

  protected async act(signal: AbortSignal): Promise<undefined> {
    const published = await this.#events.round(signal);
    if (published > 0) this.kit.logger.debug({ published }, 'alerting.operations_published');
  }

  protected failed(error: unknown): void {
    this.kit.logger.warn({ err: error }, 'alerting.operations_waiting');
  }
}
