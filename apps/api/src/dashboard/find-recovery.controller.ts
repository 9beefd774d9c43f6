import { Controller, Get, Param } from '@nestjs/common';
import type { OrgId, RecoveryId } from '#libs/domain';
import { RecoveryRecords } from '#libs/postgres';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { noSuchRecovery, RecoveryIdPipe } from '../deliveries/recovery-id.pipe.js';
import { recoveryJson } from '../deliveries/recovery.presenter.js';

/** `GET /dashboard/recoveries/:recoveryId`: finds a recovery without its endpoint, for the search box. */
@Controller('api/v1/dashboard/recoveries/:recoveryId')
export class FindRecoveryController {
  constructor(private readonly recoveries: RecoveryRecords) {}

  @Get()
  @RequireScope('webhooks:read')
  async find(@OrgOfKey() orgId: OrgId, @Param('recoveryId', RecoveryIdPipe) id: RecoveryId) {
    const recovery = await this.recoveries.find(orgId, id);
    if (recovery === undefined) throw noSuchRecovery();
    return { data: recoveryJson(recovery) };
  }
}
