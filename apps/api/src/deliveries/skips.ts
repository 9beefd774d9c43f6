import { Inject, Injectable } from '@nestjs/common';
import { endDelivery, GaplessError, type DeliveryId, type EndpointId, type OrgId } from '#libs/domain';
import { AuditLog, DeliveryLog, EndpointRecords, type AuditActor, type DeliveryRecord } from '#libs/postgres';
import { Appender, factRecord, type TopicNames } from '#libs/kafka-log';
import { TOPICS } from '#libs/platform';
import { noSuchEndpoint } from '../webhooks/endpoint-id.pipe.js';
import { appendOrRefuse } from './append-or-refuse.js';
import { noSuchDelivery } from './delivery-id.pipe.js';
import { ProjectedDelivery } from './projected-delivery.js';

/** Ends pending deliveries, so that those after them in an order are sent (contract 4.6). */
@Injectable()
export class Skips {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly log: DeliveryLog,
    private readonly audit: AuditLog,
    private readonly appender: Appender,
    private readonly projected: ProjectedDelivery,
    @Inject(TOPICS) private readonly topics: TopicNames,
  ) {}

  /**
   * @returns the delivery as it is after the request
   * @throws GaplessError `not_found`, `delivery_not_pending`, `unavailable`
   */
  async skip(orgId: OrgId, id: EndpointId, deliveryId: DeliveryId, actor: AuditActor): Promise<DeliveryRecord> {
    if ((await this.endpoints.find(orgId, id)) === undefined) throw noSuchEndpoint();
    const delivery = await this.log.find(orgId, id, deliveryId);
    if (delivery === undefined) throw noSuchDelivery();
    if (delivery.status !== 'pending') {
      throw new GaplessError('delivery_not_pending', `The delivery is ${delivery.status} already.`);
    }
    const { run } = delivery;
    // The audit entry comes first, so that nothing ends without one.
    const details = { endpoint_id: id };
    await this.audit.append(actor, { orgId, action: 'delivery.skipped', target: deliveryId, details });
    await appendOrRefuse(this.appender, [
      factRecord(this.topics.deliveries, { type: 'ended', delivery: refOf(delivery), run, reason: 'skipped' }),
    ]);
    const isOver = (found: DeliveryRecord) => found.run > run || found.status !== 'pending';
    const projected = await this.projected.when(orgId, id, deliveryId, isOver);
    return projected ?? { ...delivery, ...endDelivery(delivery, 'skipped') };
  }
}

function refOf({ deliveryId, endpointId, orgId, eventId, event, seq, createdAtMs }: DeliveryRecord) {
  return { deliveryId, endpointId, orgId, eventId, event, seq, createdAtMs };
}
