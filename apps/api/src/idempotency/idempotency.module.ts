import { Module } from '@nestjs/common';
import { IdempotencyPruner } from './idempotency-pruner.js';
import { Idempotency } from './idempotency.js';
import { SeededSecrets } from './seeded-secrets.js';

@Module({ providers: [Idempotency, IdempotencyPruner, SeededSecrets], exports: [Idempotency, SeededSecrets] })
export class IdempotencyModule {}
