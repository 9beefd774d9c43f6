import { Controller, Get } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { FeedCursors } from '#libs/postgres';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { SharedReads } from '../events/shared-reads.js';
import { cursorJson } from './cursor.presenter.js';

/** The most cursors that are listed. There are more only if the setting allowed more. */
const LISTED = 1_000;

/** `GET /external/cursors`: who reads the feed of the org, and how far behind they are. */
@Controller('api/v1/external/cursors')
export class ListCursorsController {
  constructor(
    private readonly cursors: FeedCursors,
    private readonly reads: SharedReads,
  ) {}

  @Get()
  @RequireScope('events:read')
  async list(@OrgOfKey() orgId: OrgId) {
    const [cursors, bounds] = await Promise.all([this.cursors.list(orgId, LISTED), this.reads.bounds(orgId)]);
    return { data: cursors.map((cursor) => cursorJson(cursor, bounds)) };
  }
}
