import { Controller, Inject, Post } from '@nestjs/common';
import { derivedEndpointId, GaplessError, type Clock, type OrgId } from '#libs/domain';
import { EndpointRecords, SigningKeys, type AuditActor } from '#libs/postgres';
import { CLOCK, CONFIG } from '#libs/platform';
import { Identifiers, type Config } from '#libs/runtime';
import { Actor } from '../audit/actor.decorator.js';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { Idempotent, Seed } from '../idempotency/idempotent.decorator.js';
import { SeededSecrets } from '../idempotency/seeded-secrets.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { CountsAsChange } from '../rate-limits/counts-as-change.js';
import { checkEventFilter } from './check-event-filter.js';
import { EndpointUrlCheck } from './endpoint-url-check.js';
import { LogMoments } from './log-moments.js';
import { signingSecret } from './signing-secret.js';
import { CreateWebhookDto, deliveryChangesOf, widgetIdsOf } from './webhook.dto.js';
import { webhookWithSecretJson } from './webhook.presenter.js';

/** `POST /external/webhooks`: registers an endpoint, and shows its secret in this response only (contract 5.1, 5.2). */
@Controller('api/v1/external/webhooks')
export class CreateWebhookController {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly urls: EndpointUrlCheck,
    private readonly log: LogMoments,
    private readonly identifiers: Identifiers,
    private readonly signingKeys: SigningKeys,
    private readonly secrets: SeededSecrets,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Post()
  @CountsAsChange()
  @Idempotent()
  @RequireScope('webhooks:write')
  async create(
    @OrgOfKey() orgId: OrgId,
    @JsonBody(CreateWebhookDto) body: CreateWebhookDto,
    @Actor() actor: AuditActor,
    @Seed() seed: string | null,
  ) {
    const filter = body.filter ?? null;
    checkEventFilter(filter, body.events);
    await this.urls.checkAll(body);
    // Published from now on, and not only from the first push on.
    if (body.signatures?.includes('ed25519') === true) await this.signingKeys.ensure();
    const secret = body.secret ?? signingSecret(this.secrets.bytes(seed, 'signing secret'));
    const id = seed === null ? this.identifiers.endpointId() : derivedEndpointId(seed);
    if (seed !== null) {
      // An earlier attempt at the request may have created it, with this secret.
      const created = await this.endpoints.findCreated(orgId, id, secret);
      if (created !== undefined) return { data: webhookWithSecretJson(created, secret) };
    }
    const limit = this.config.maxEndpointsPerOrg;
    const logEnd = await this.log.endOf(orgId);
    const created = await this.endpoints.by(actor).create(
      {
        id,
        orgId,
        name: body.name ?? null,
        description: body.description ?? null,
        url: body.url,
        events: body.events,
        widgetIds: widgetIdsOf(body.widget_ids),
        filter,
        secret,
        createdAt: new Date(this.clock.now()),
        logEnd,
        seed,
        ...deliveryChangesOf(body),
      },
      limit,
    );
    if (created === 'limit_reached') {
      throw new GaplessError('endpoint_limit_reached', `The organization has ${limit} endpoints already.`);
    }
    return { data: webhookWithSecretJson(created, secret) };
  }
}
