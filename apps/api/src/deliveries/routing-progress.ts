import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { Clock, OrgId } from '#libs/domain';
import { RouterPlaces, ROUTING_DELAY_MS, type LookTime } from '#libs/postgres';
import { KafkaConnection, LogPositions, partitionOf, ROUTER_GROUP, type TopicNames } from '#libs/kafka-log';
import { CLOCK, CONFIG, TOPICS } from '#libs/platform';
import type { Config } from '#libs/runtime';

/** How long to wait for the brokers. */
const PATIENCE_MS = 2_000;

/** Knows which events of an organization routing may still send. The router may be far behind. */
@Injectable()
export class RoutingProgress {
  readonly #positions: LogPositions;

  constructor(
    connection: KafkaConnection,
    private readonly places: RouterPlaces,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.#positions = new LogPositions(connection);
  }

  /**
   * Returns the time of a look at the organization's events, and which of them are routed. The facts of what was routed by
   * then may be projected later.
   */
  async lookTime(orgId: OrgId): Promise<LookTime> {
    const nowMs = this.clock.now();
    const oldEnough = { nowMs, routedBeforeMs: nowMs - ROUTING_DELAY_MS };
    const partition = partitionOf(orgId, this.config.partitions);
    const place = await this.places.find(this.topics.log, partition);
    if (place === undefined || place.appendedUntilMs >= oldEnough.routedBeforeMs) return oldEnough;
    // A place is old if nothing came since then, or if the router is behind. After a crash it can miss the last events.
    if (await this.#isAtEnd(partition)) return oldEnough;
    return { nowMs, routedBeforeMs: place.appendedUntilMs + 1 };
  }

  /** Whether the router has finished everything in the partition; `false` if that is unknown. */
  async #isAtEnd(partition: number): Promise<boolean> {
    const { log } = this.topics;
    const asked = this.#positions.together(async (positions) => {
      const end = (await positions.ends(log)).get(partition) ?? 0;
      const routed = await positions.committed(`${this.config.topicPrefix}-${ROUTER_GROUP}`, log);
      return (routed.get(partition) ?? 0) >= end;
    });
    return Promise.race([asked, delay(PATIENCE_MS, false, { ref: false })]).catch(() => false);
  }
}
