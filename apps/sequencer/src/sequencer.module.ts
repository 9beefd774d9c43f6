import { Module } from '@nestjs/common';
import { SequenceInboxHandler } from './sequence-inbox.handler.js';

@Module({ controllers: [SequenceInboxHandler] })
export class SequencerModule {}
