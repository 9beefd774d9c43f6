import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { Confirmations, derivedRecoveryId, GaplessError, parseEndpointId, type Clock } from '#libs/domain';
import { CLOCK } from '#libs/platform';
import { RECOVERY_KINDS } from '#libs/postgres';
import { RecoverDeliveriesDto } from '../../deliveries/recover-deliveries.dto.js';
import { Recoveries } from '../../deliveries/recoveries.js';
import { readDto } from '../../http/json-body.decorator.js';
import { noSuchEndpoint } from '../../webhooks/endpoint-id.pipe.js';
import { agentTool, own } from './tool.js';

@Injectable()
export class RecoverEndpointTool {
  constructor(
    private readonly recoveries: Recoveries,
    private readonly confirmations: Confirmations,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  readonly tool = agentTool({
    name: 'recover_endpoint',
    title: 'Recover an endpoint',
    description:
      'Re-sends what failed, what the endpoint missed while it was inactive, or what was never sent to it. The first call sends nothing: it returns the number of events and a confirmation. The second call, with the same arguments and the confirmation, sends them.',
    scopes: ['webhooks:write'],
    input: z.strictObject({
      endpoint_id: z.string().max(100),
      since_seq: z.number().int().min(0).optional().describe('Events with a greater seq. Set this or since.'),
      since: z.string().max(40).optional().describe('Events appended at this time or later, RFC 3339.'),
      until: z.string().max(40).optional().describe('Events appended before this time, RFC 3339.'),
      status: z.enum(RECOVERY_KINDS).optional().describe('Default: failed and missed.'),
      confirmation: z.string().max(100).optional().describe('From the first call. It is valid once, for 10 minutes.'),
    }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    run: async ({ orgId, actor }, { endpoint_id, confirmation, ...range }) => {
      const endpointId = parseEndpointId(endpoint_id);
      if (endpointId === undefined) throw noSuchEndpoint();
      const { since_seq = null, since = null, until = null, status = null } = range;
      const parts = [orgId, endpointId, since_seq, since, until, status];
      const nowMs = this.clock.now();
      const isDryRun = confirmation === undefined;
      const body = readDto(Buffer.from(JSON.stringify({ ...range, dry_run: isDryRun })), RecoverDeliveriesDto);
      if (!isDryRun) {
        const confirmed = this.confirmations.read(confirmation, parts, nowMs);
        if (confirmed === undefined) {
          throw new GaplessError('validation_failed', 'The confirmation is over, or is one of other arguments.');
        }
        const once = { id: derivedRecoveryId(confirmed), ifBegun: 'refuse' } as const;
        return own({ dry_run: false, ...(await this.recoveries.recover(orgId, endpointId, body, actor, once)) });
      }
      const recovered = await this.recoveries.recover(orgId, endpointId, body, actor);
      return own({
        dry_run: true,
        matched: recovered.matched,
        complete: recovered.complete,
        confirmation: this.confirmations.of(parts, nowMs),
      });
    },
  });
}
