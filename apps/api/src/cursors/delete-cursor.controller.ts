import { Controller, Delete, HttpCode, Param } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { FeedCursors, type AuditActor } from '#libs/postgres';
import { Actor } from '../audit/actor.decorator.js';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { CursorNamePipe, noSuchCursor } from './cursor-name.js';

/** `DELETE /external/cursors/:name`: forgets the position. The events stay in the feed. */
@Controller('api/v1/external/cursors/:name')
export class DeleteCursorController {
  constructor(private readonly cursors: FeedCursors) {}

  @Delete()
  @HttpCode(204)
  @RequireScope('events:read')
  async delete(
    @OrgOfKey() orgId: OrgId,
    @Param('name', CursorNamePipe) name: string,
    @Actor() actor: AuditActor,
  ): Promise<void> {
    if (!(await this.cursors.by(actor).delete(orgId, name))) throw noSuchCursor();
  }
}
