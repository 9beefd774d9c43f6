import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { GaplessError, parseEndpointId, type Clock } from '#libs/domain';
import { CLOCK } from '#libs/platform';
import { EndpointHealthReader, EndpointRecords } from '#libs/postgres';
import { webhookHealthJson, webhookJson } from '../../webhooks/webhook.presenter.js';
import { agentTool, READS, untrusted } from './tool.js';

const MAX_ENDPOINTS = 50;

@Injectable()
export class ListEndpointsTool {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly health: EndpointHealthReader,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  readonly tool = agentTool({
    name: 'list_endpoints',
    title: 'List webhook endpoints',
    description:
      'Lists the webhook endpoints with their health, oldest first. To read on, call it with after set to the last id.',
    scopes: ['webhooks:read'],
    input: z.strictObject({
      after: z.string().max(100).optional().describe('The id of the endpoint after which the list continues.'),
      limit: z.number().int().min(1).max(MAX_ENDPOINTS).default(20),
    }),
    annotations: READS,
    run: async ({ orgId }, { after, limit }) => {
      const afterId = after === undefined ? null : parseEndpointId(after);
      // One more, which says whether others follow.
      const page = afterId === undefined ? undefined : { after: afterId, limit: limit + 1 };
      const found = page && (await this.endpoints.page(orgId, page));
      // From the beginning, an agent would read on forever.
      if (found === undefined) {
        throw new GaplessError(
          'validation_failed',
          'after is not the id of an endpoint. It may have been deleted: begin again.',
        );
      }
      const listed = found.slice(0, limit);
      const ids = listed.map(({ id }) => id);
      const recent = await this.health.recent(orgId, this.clock.now(), ids);
      const shown: object[] = [];
      for (const endpoint of listed) {
        const health = await this.health.read(orgId, endpoint.id, this.clock.now(), endpoint.settings);
        shown.push({ ...webhookJson(endpoint), health: webhookHealthJson(endpoint, health, recent.get(endpoint.id)) });
      }
      return untrusted(JSON.stringify({ endpoints: shown, has_more: found.length > limit }));
    },
  });
}
