import { Controller, Delete, Get, Inject, Param } from '@nestjs/common';
import type { Clock, EndpointId, OrgId, RecoveryId } from '#libs/domain';
import { CLOCK } from '#libs/platform';
import { EndpointRecords, RecoveryRecords, type AuditActor, type RecoveryRecord } from '#libs/postgres';
import { Actor } from '../audit/actor.decorator.js';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { EndpointIdPipe, noSuchEndpoint } from '../webhooks/endpoint-id.pipe.js';
import { noSuchRecovery, RecoveryIdPipe } from './recovery-id.pipe.js';
import { recoveryJson } from './recovery.presenter.js';

/** The most recoveries that are listed. */
const LISTED = 50;

/** `/external/webhooks/:id/recoveries`: how far recoveries are, and their end (contract 4.4). */
@Controller('api/v1/external/webhooks/:id/recoveries')
export class RecoveriesController {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly records: RecoveryRecords,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @RequireScope('webhooks:read')
  async list(@OrgOfKey() orgId: OrgId, @Param('id', EndpointIdPipe) id: EndpointId) {
    if ((await this.endpoints.find(orgId, id)) === undefined) throw noSuchEndpoint();
    return { data: (await this.records.list(orgId, id, LISTED)).map(recoveryJson) };
  }

  @Get(':recoveryId')
  @RequireScope('webhooks:read')
  async get(
    @OrgOfKey() orgId: OrgId,
    @Param('id', EndpointIdPipe) id: EndpointId,
    @Param('recoveryId', RecoveryIdPipe) recoveryId: RecoveryId,
  ) {
    return { data: recoveryJson(await this.#find(orgId, id, recoveryId)) };
  }

  /** Stops it. Events that are scheduled by then are still sent. */
  @Delete(':recoveryId')
  @RequireScope('webhooks:write')
  async stop(
    @OrgOfKey() orgId: OrgId,
    @Param('id', EndpointIdPipe) id: EndpointId,
    @Param('recoveryId', RecoveryIdPipe) recoveryId: RecoveryId,
    @Actor() actor: AuditActor,
  ) {
    await this.records.by(actor).stop(orgId, id, recoveryId, new Date(this.clock.now()));
    return { data: recoveryJson(await this.#find(orgId, id, recoveryId)) };
  }

  async #find(orgId: OrgId, endpointId: EndpointId, id: RecoveryId): Promise<RecoveryRecord> {
    const recovery = await this.records.find(orgId, id);
    if (recovery?.endpointId !== endpointId) throw noSuchRecovery();
    return recovery;
  }
}
