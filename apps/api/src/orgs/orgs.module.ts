import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { DashboardModule } from '../dashboard/dashboard.module.js';
import { IdempotencyModule } from '../idempotency/idempotency.module.js';
import { CreateOrgApiKeyController } from './create-org-api-key.controller.js';
import { DeleteOrgController } from './delete-org.controller.js';
import { GetOrgController } from './get-org.controller.js';
import { ListOrgApiKeysController } from './list-org-api-keys.controller.js';
import { ListOrgsController } from './list-orgs.controller.js';
import { PutOrgController } from './put-org.controller.js';
import { ReadOrgStatisticsController } from './read-org-statistics.controller.js';
import { RevokeOrgApiKeyController } from './revoke-org-api-key.controller.js';

@Module({
  imports: [ApiKeysModule, DashboardModule, IdempotencyModule],
  controllers: [
    ListOrgsController,
    PutOrgController,
    GetOrgController,
    DeleteOrgController,
    CreateOrgApiKeyController,
    ListOrgApiKeysController,
    RevokeOrgApiKeyController,
    ReadOrgStatisticsController,
  ],
})
export class OrgsModule {}
