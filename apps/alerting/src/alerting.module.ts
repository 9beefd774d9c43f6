import { Module } from '@nestjs/common';
import { FoldedInbox } from './folded-inbox.js';
import { FoldQueueHandler } from './fold-queue.handler.js';
import { SendMails } from './mail/send-mails.js';
import { ReportOperations } from './operations/report-operations.js';
import { PruneLiveChats } from './prune-live-chats.js';
import { SweepRegularly } from './sweep-regularly.js';

@Module({
  controllers: [FoldQueueHandler],
  providers: [FoldedInbox, SweepRegularly, SendMails, PruneLiveChats, ReportOperations],
})
export class AlertingModule {}
