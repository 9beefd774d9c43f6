import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../idempotency/idempotency.module.js';
import { RateLimitsModule } from '../rate-limits/rate-limits.module.js';
import { CreateApiKeyController } from './create-api-key.controller.js';
import { ListApiKeysController } from './list-api-keys.controller.js';
import { NewApiKeys } from './new-api-keys.js';
import { RevokeApiKeyController } from './revoke-api-key.controller.js';

@Module({
  imports: [IdempotencyModule, RateLimitsModule],
  controllers: [CreateApiKeyController, ListApiKeysController, RevokeApiKeyController],
  providers: [NewApiKeys],
  exports: [NewApiKeys],
})
export class ApiKeysModule {}
