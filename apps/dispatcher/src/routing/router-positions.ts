import { Inject, Injectable } from '@nestjs/common';
import type { Position } from '#libs/domain';
import { RouterPlaces } from '#libs/postgres';
import {
  committedPositions,
  KafkaConnection,
  PositionSources,
  ROUTER_GROUP,
  type PositionSource,
} from '#libs/kafka-log';
import { CONFIG, LOGGER } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';

/**
 * Lets the router continue at its group's offsets, unless a tool has moved them ahead of what was routed: nobody else
 * would push the events between. Offsets that a router commits have an anchor; those of tools have none.
 */
@Injectable()
export class RouterPositions {
  readonly #committed: PositionSource;

  constructor(
    private readonly places: RouterPlaces,
    connection: KafkaConnection,
    positions: PositionSources,
    @Inject(CONFIG) config: Pick<Config, 'topicPrefix'>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#committed = committedPositions(connection, `${config.topicPrefix}-${ROUTER_GROUP}`);
    positions.provide(ROUTER_GROUP, (topic, partitions) => this.#find(topic, partitions));
  }

  async #find(topic: string, partitions: readonly number[]): Promise<ReadonlyMap<number, Position>> {
    const found = new Map(await this.#committed(topic, partitions));
    for (const [partition, { next, anchor }] of found) {
      if (anchor !== null) continue;
      const place = await this.places.find(topic, partition);
      if (place === undefined || place.nextOffset >= next) continue;
      this.logger.warn({ topic, partition, committed: next, from: place.nextOffset }, 'router.reads_again');
      found.set(partition, { next: place.nextOffset, anchor: null });
    }
    return found;
  }
}
