import { Module } from '@nestjs/common';
import { IdempotencyPruner } from './idempotency-pruner.js';
import { Idempotency } from './idempotency.js';

@Module({ providers: [Idempotency, IdempotencyPruner], exports: [Idempotency] })
export class IdempotencyModule {}
