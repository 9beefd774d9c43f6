import { Controller, Inject, Param, Patch } from '@nestjs/common';
import { GaplessError, type Clock, type EndpointId, type OrgId } from '#libs/domain';
import {
  EndpointRecords,
  isPostgresAway,
  SigningKeys,
  type EndpointChanges,
  type EndpointRecord,
  type AuditActor,
} from '#libs/postgres';
import { Appender, factRecord, type TopicNames } from '#libs/kafka-log';
import { CLOCK, TOPICS } from '#libs/platform';
import { Actor } from '../audit/actor.decorator.js';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { CountsAsChange } from '../rate-limits/counts-as-change.js';
import { checkSelection } from './check-event-filter.js';
import { EndpointIdPipe, noSuchEndpoint } from './endpoint-id.pipe.js';
import { EndpointUrlCheck } from './endpoint-url-check.js';
import { LogMoments } from './log-moments.js';
import { deliveryChangesOf, UpdateWebhookDto, widgetIdsOf } from './webhook.dto.js';
import { webhookJson } from './webhook.presenter.js';

function changesOf(body: UpdateWebhookDto, isActive: EndpointChanges['isActive']): EndpointChanges {
  return {
    ...(body.url === undefined ? {} : { url: body.url }),
    ...(body.events === undefined ? {} : { events: body.events }),
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.description === undefined ? {} : { description: body.description }),
    ...(body.widget_ids === undefined ? {} : { widgetIds: widgetIdsOf(body.widget_ids) }),
    ...(body.filter === undefined ? {} : { filter: body.filter }),
    ...deliveryChangesOf(body),
    ...(isActive === undefined ? {} : { isActive }),
  };
}

/** `PATCH /external/webhooks/:id`: changes, enables or disables an endpoint (contract 4.2, 5.1). */
@Controller('api/v1/external/webhooks/:id')
export class UpdateWebhookController {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly urls: EndpointUrlCheck,
    private readonly log: LogMoments,
    private readonly signingKeys: SigningKeys,
    private readonly appender: Appender,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Patch()
  @RequireScope('webhooks:write')
  @CountsAsChange()
  async update(
    @OrgOfKey() orgId: OrgId,
    @Param('id', EndpointIdPipe) id: EndpointId,
    @JsonBody(UpdateWebhookDto) body: UpdateWebhookDto,
    @Actor() actor: AuditActor,
  ) {
    if ((await this.endpoints.find(orgId, id)) === undefined) throw noSuchEndpoint();
    await this.urls.checkAll(body);
    if (body.signatures?.includes('ed25519') === true) await this.signingKeys.ensure();
    const { is_active: becomes } = body;
    const isActive = becomes === undefined ? undefined : { becomes, logEnd: await this.log.endOf(orgId) };
    const atMs = this.clock.now();
    const changes = changesOf(body, isActive);
    // Disabling ends pending deliveries. A fact records it, so that its order among the attempts is known. The brokers may
    // have the fact although the append failed, so the endpoint is disabled all the same: it would end the deliveries of
    // an active endpoint.
    const failures: unknown[] = [];
    let mayBeInLog = false;
    const disabled = async ({ activation }: EndpointRecord) => {
      mayBeInLog = true;
      const fact = { type: 'endpoint_disabled', endpointId: id, orgId, activation, atMs } as const;
      await this.appender.append([factRecord(this.topics.deliveries, fact)]).catch((error: unknown) => {
        failures.push(error);
      });
    };
    const updated = await this.endpoints
      .by(actor)
      .update(orgId, id, changes, new Date(atMs), disabled, checkSelection)
      .catch((error: unknown) => {
        if (!mayBeInLog || !isPostgresAway(error)) throw error;
        throw new GaplessError(
          'unavailable',
          'It is not known whether the endpoint is disabled. Its pending deliveries may have ended. Look, and repeat the request if it is active.',
          { cause: error },
        );
      });
    if (updated === undefined) throw noSuchEndpoint();
    if (failures.length > 0) {
      throw new GaplessError(
        'unavailable',
        'The endpoint is disabled. The log did not confirm it, so its pending deliveries may end later, each when it is due.',
        { cause: failures[0] },
      );
    }
    return { data: webhookJson(updated) };
  }
}
