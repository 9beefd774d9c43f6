import { Controller, Inject, Param, Put, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { GaplessError, type Clock, type OrgId, type Seq } from '#libs/domain';
import { FeedCursors, type AuditActor } from '#libs/postgres';
import { CLOCK, CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { Actor } from '../audit/actor.decorator.js';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { SharedReads } from '../events/shared-reads.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { RateLimits } from '../rate-limits/rate-limits.js';
import { NewCursorNamePipe } from './cursor-name.js';
import { MoveCursorDto } from './cursor.dto.js';
import { cursorJson } from './cursor.presenter.js';

/** `PUT /external/cursors/:name`: stores the position of a reader (contract 5.8). */
@Controller('api/v1/external/cursors/:name')
export class PutCursorController {
  constructor(
    private readonly cursors: FeedCursors,
    private readonly reads: SharedReads,
    private readonly limits: RateLimits,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Put()
  @RequireScope('events:read')
  async put(
    @OrgOfKey() orgId: OrgId,
    @Param('name', NewCursorNamePipe) name: string,
    @JsonBody(MoveCursorDto) body: MoveCursorDto,
    @Actor() actor: AuditActor,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const limit = this.config.maxCursorsPerOrg;
    // Read before the move, so that a failure is answered before anything has changed.
    const bounds = await this.reads.bounds(orgId);
    const moved = await this.cursors.by(actor).move(
      orgId,
      {
        name,
        seq: body.seq as Seq,
        expected: body.expected_seq as Seq | null | undefined,
        at: new Date(this.clock.now()),
        limit,
      },
      // Any reader may move a cursor back and forth, and would fill the audit log.
      () => this.limits.count('changes', orgId, 1, reply),
    );
    switch (moved.kind) {
      case 'set':
        return { data: cursorJson(moved.cursor, bounds) };
      case 'conflict':
        throw new GaplessError(
          'cursor_conflict',
          moved.seq === null ? 'The cursor does not exist.' : `The cursor is at ${moved.seq}.`,
        );
      case 'limit_reached':
        throw new GaplessError(
          'cursor_limit_reached',
          `The organization has ${limit} cursors already. Delete one that nobody uses.`,
        );
    }
  }
}
