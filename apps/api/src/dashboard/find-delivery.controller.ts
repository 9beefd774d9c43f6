import { Controller, Get, Param } from '@nestjs/common';
import type { DeliveryId, OrgId } from '#libs/domain';
import { DeliveryLog } from '#libs/postgres';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { DeliveryIdPipe, noSuchDelivery } from '../deliveries/delivery-id.pipe.js';
import { deliveryJson } from '../deliveries/delivery.presenter.js';

/** `GET /dashboard/deliveries/:deliveryId`: finds a delivery without its endpoint, for the search box. */
@Controller('api/v1/dashboard/deliveries/:deliveryId')
export class FindDeliveryController {
  constructor(private readonly log: DeliveryLog) {}

  @Get()
  @RequireScope('webhooks:read')
  async find(@OrgOfKey() orgId: OrgId, @Param('deliveryId', DeliveryIdPipe) id: DeliveryId) {
    const delivery = await this.log.findAnywhere(orgId, id);
    if (delivery === undefined) throw noSuchDelivery();
    return { data: { ...deliveryJson(delivery), endpoint_id: delivery.endpointId } };
  }
}
