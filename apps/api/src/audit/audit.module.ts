import { Module } from '@nestjs/common';
import { AuditPruner } from './audit-pruner.js';
import { ListAuditLogController } from './list-audit-log.controller.js';

@Module({ controllers: [ListAuditLogController], providers: [AuditPruner] })
export class AuditModule {}
