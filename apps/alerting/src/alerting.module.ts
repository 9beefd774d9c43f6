import { Module } from '@nestjs/common';
import { FoldedInbox } from './folded-inbox.js';
import { FoldQueueHandler } from './fold-queue.handler.js';
import { SendMails } from './mail/send-mails.js';
import { ReportOperations } from './operations/report-operations.js';
import { PruneAlerts } from './prune-alerts.js';
import { SweepRegularly } from './sweep-regularly.js';

@Module({
  controllers: [FoldQueueHandler],
  providers: [FoldedInbox, SweepRegularly, SendMails, PruneAlerts, ReportOperations],
})
export class AlertingModule {}
