import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { EndpointId } from '#libs/domain';
import { projectedUpTo, Store } from '#libs/postgres';
import { KafkaConnection, LogPositions, partitionOf, type TopicNames } from '#libs/kafka-log';
import { CONFIG, TOPICS } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { orRefuse } from './append-or-refuse.js';

/** How long to wait for the brokers, and then for the projection. Others wait meanwhile. */
const PATIENCE_MS = 2_000;
const LOOK_EVERY_MS = 100;

/** Waits until Postgres shows what the log of deliveries knows of an endpoint. */
@Injectable()
export class ProjectedFacts {
  readonly #positions: LogPositions;

  constructor(
    connection: KafkaConnection,
    private readonly store: Store,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.#positions = new LogPositions(connection);
  }

  /**
   * @returns whether every fact of the endpoint from before the call is projected, after some seconds at most
   * @throws GaplessError `unavailable` when the brokers cannot be reached
   */
  async areComplete(endpointId: EndpointId, signal?: AbortSignal): Promise<boolean> {
    const { deliveries } = this.topics;
    const partition = partitionOf(endpointId, this.config.partitions);
    const asked = this.#positions.ends(deliveries).then((ends) => ends.get(partition) ?? 0);
    const end = await orRefuse(Promise.race([asked, delay(PATIENCE_MS, null, { ref: false })]));
    if (end === null) return false;
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const reached = await projectedUpTo(this.store, 'deliveries', deliveries);
      if ((reached.get(partition) ?? 0) >= end) return true;
      if (performance.now() >= deadlineMs) return false;
      await delay(LOOK_EVERY_MS, undefined, { signal });
    }
  }
}
