import { Module } from '@nestjs/common';
import { FoldQueueHandler } from './fold-queue.handler.js';
import { SendMails } from './mail/send-mails.js';
import { PruneAlerts } from './prune-alerts.js';
import { SweepRegularly } from './sweep-regularly.js';

@Module({ controllers: [FoldQueueHandler], providers: [SweepRegularly, SendMails, PruneAlerts] })
export class AlertingModule {}
