import { Controller, Inject, Put } from '@nestjs/common';
import { parseWidgetId, type Clock, type OrgId } from '#libs/domain';
import { OrgRecords, type AuditActor } from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import { Actor } from '../audit/actor.decorator.js';
import { RequireScope } from '../auth/require-scope.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { Limits } from '../http/operation-limits.js';
import { PutOrgDto } from './org.dto.js';
import { orgJson } from './org.presenter.js';
import { ManagedOrg } from './service-key.decorator.js';

/** Enough for the largest number of widgets with the longest names. */
const BODY_BYTES = 1_024 ** 2;

/** `PUT /internal/orgs/:orgId`: creates the record of an org, or replaces it whole. */
@Controller('api/v1/internal/orgs/:orgId')
export class PutOrgController {
  constructor(
    private readonly orgs: OrgRecords,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Put()
  @RequireScope('orgs:write')
  @Limits({ bodyBytes: BODY_BYTES })
  async put(@ManagedOrg() orgId: OrgId, @JsonBody(PutOrgDto) body: PutOrgDto, @Actor() actor: AuditActor) {
    const widgets = (body.widgets ?? []).flatMap(({ id, name }) => {
      const widgetId = parseWidgetId(id);
      return widgetId === undefined ? [] : [{ id: widgetId, name }];
    });
    const members = { name: body.name, widgets, metadata: body.metadata ?? {} };
    return { data: orgJson(await this.orgs.by(actor).put(orgId, members, new Date(this.clock.now()))) };
  }
}
