import { Controller, Get, Param } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { FeedCursors } from '#libs/postgres';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { SharedReads } from '../events/shared-reads.js';
import { CursorNamePipe, noSuchCursor } from './cursor-name.js';
import { cursorJson } from './cursor.presenter.js';

/** `GET /external/cursors/:name`: the position that was stored last. */
@Controller('api/v1/external/cursors/:name')
export class GetCursorController {
  constructor(
    private readonly cursors: FeedCursors,
    private readonly reads: SharedReads,
  ) {}

  @Get()
  @RequireScope('events:read')
  async get(@OrgOfKey() orgId: OrgId, @Param('name', CursorNamePipe) name: string) {
    const [cursor, bounds] = await Promise.all([this.cursors.read(orgId, name), this.reads.bounds(orgId)]);
    if (cursor === undefined) throw noSuchCursor();
    return { data: cursorJson(cursor, bounds) };
  }
}
