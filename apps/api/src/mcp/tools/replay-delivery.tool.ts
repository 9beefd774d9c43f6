import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { parseDeliveryId, parseEndpointId } from '#libs/domain';
import { noSuchDelivery } from '../../deliveries/delivery-id.pipe.js';
import { deliveryJson } from '../../deliveries/delivery.presenter.js';
import { Replays } from '../../deliveries/replays.js';
import { noSuchEndpoint } from '../../webhooks/endpoint-id.pipe.js';
import { agentTool, own } from './tool.js';

@Injectable()
export class ReplayDeliveryTool {
  constructor(private readonly replays: Replays) {}

  readonly tool = agentTool({
    name: 'replay_delivery',
    title: 'Replay a delivery',
    description: 'Sends a stored delivery to its endpoint again. The endpoint gets the same event id.',
    scopes: ['webhooks:write'],
    input: z.strictObject({ endpoint_id: z.string().max(100), delivery_id: z.string().max(100) }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    run: async ({ orgId, actor }, { endpoint_id, delivery_id }) => {
      const endpointId = parseEndpointId(endpoint_id);
      if (endpointId === undefined) throw noSuchEndpoint();
      const deliveryId = parseDeliveryId(delivery_id);
      if (deliveryId === undefined) throw noSuchDelivery();
      return own({ delivery: deliveryJson(await this.replays.replay(orgId, endpointId, deliveryId, actor)) });
    },
  });
}
