import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module.js';
import { RateLimitsModule } from '../rate-limits/rate-limits.module.js';
import { DeleteCursorController } from './delete-cursor.controller.js';
import { GetCursorController } from './get-cursor.controller.js';
import { ListCursorsController } from './list-cursors.controller.js';
import { PutCursorController } from './put-cursor.controller.js';

@Module({
  imports: [EventsModule, RateLimitsModule],
  controllers: [DeleteCursorController, GetCursorController, ListCursorsController, PutCursorController],
})
export class CursorsModule {}
