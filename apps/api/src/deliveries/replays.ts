import { Inject, Injectable } from '@nestjs/common';
import {
  GaplessError,
  replayAtMs,
  type Clock,
  type DeliveryId,
  type EndpointId,
  type OrgId,
  type Replayed,
} from '#libs/domain';
import {
  AuditLog,
  DeliveryLog,
  EndpointRecords,
  FeedReader,
  type AuditActor,
  type DeliveryRecord,
} from '#libs/postgres';
import { Appender, type TopicNames } from '#libs/kafka-log';
import { CLOCK, TOPICS } from '#libs/platform';
import { noSuchEndpoint } from '../webhooks/endpoint-id.pipe.js';
import { refuseInactive } from '../webhooks/refuse-inactive.js';
import { appendOrRefuse } from './append-or-refuse.js';
import { noSuchDelivery } from './delivery-id.pipe.js';
import { ProjectedDelivery } from './projected-delivery.js';
import { replayRecords } from './replay.js';
import { requestedDelivery } from './requested-delivery.js';

/** Re-sends stored deliveries (contract 4.1, 5.1). */
@Injectable()
export class Replays {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly log: DeliveryLog,
    private readonly feed: FeedReader,
    private readonly audit: AuditLog,
    private readonly appender: Appender,
    private readonly projected: ProjectedDelivery,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * @param seed the same when the request is repeated, so that it is one replay; `null` for another replay each time
   * @returns the delivery as the request leaves it
   * @throws GaplessError `not_found`, `endpoint_inactive`, `event_pruned`, `unavailable`
   */
  async replay(
    orgId: OrgId,
    id: EndpointId,
    deliveryId: DeliveryId,
    actor: AuditActor,
    seed: string | null = null,
  ): Promise<DeliveryRecord> {
    const endpoint = await this.endpoints.find(orgId, id);
    if (endpoint === undefined) throw noSuchEndpoint();
    const delivery = await this.log.find(orgId, id, deliveryId);
    if (delivery === undefined) throw noSuchDelivery();
    refuseInactive(endpoint);
    const event = await this.feed.find(orgId, delivery.seq, this.clock.now());
    if (event === undefined) {
      const { headSeq } = await this.feed.bounds(orgId, this.clock.now());
      // The feed and the delivery log are projected side by side.
      if (headSeq < delivery.seq) throw notInFeedYet();
      throw new GaplessError('event_pruned', 'The event is older than the retention, so it cannot be sent again.');
    }
    const lastAttemptEndMs = await this.log.lastAttemptEndMs(orgId, delivery);
    // The audit entry comes first, so that nothing is sent again without one. It also keeps the run of the request.
    const details = { endpoint_id: id, run: delivery.run + 1 };
    const { run } = await this.audit.append(
      actor,
      { orgId, action: 'delivery.replayed', target: deliveryId, details },
      seed,
    );
    if (run <= delivery.run) return delivery;
    const nowMs = this.clock.now();
    const atMs = replayAtMs(nowMs, delivery.createdAtMs, lastAttemptEndMs);
    const replayed: Replayed = { type: 'replayed', delivery, run, atMs };
    await appendOrRefuse(this.appender, replayRecords(this.topics, replayed, event.envelope, nowMs));
    await this.projected.of(orgId, id, deliveryId, replayed.run);
    return requestedDelivery(delivery, replayed);
  }
}

function notInFeedYet(): GaplessError {
  return new GaplessError('unavailable', 'The event is not in the feed yet. Nothing was sent; try again.', {
    retryAfterSeconds: 1,
  });
}
