import { describe, expect, it, jest } from '@jest/globals';
import type { FastifyReply } from 'fastify';
import { GaplessError, type OrgId } from '#libs/domain';
import type { AuditActor, FeedCursors } from '#libs/postgres';
import type { Config } from '#libs/runtime';
import type { SharedReads } from '../events/shared-reads.js';
import type { RateLimits } from '../rate-limits/rate-limits.js';
import { PutCursorController } from './put-cursor.controller.js';

describe('a move of a cursor', () => {
  it('changes nothing if the bounds of the feed cannot be read', async () => {
    const away = new GaplessError('unavailable', 'Nothing was changed.');
    const move = jest.fn();
    const controller = new PutCursorController(
      { by: () => ({ move }) } as unknown as FeedCursors,
      { bounds: () => Promise.reject(away) } as unknown as SharedReads,
      {} as RateLimits,
      { now: () => 0 },
      { maxCursorsPerOrg: 100 } as Config,
    );
    const moved = controller.put('org' as OrgId, 'billing', { seq: 7 }, {} as AuditActor, {} as FastifyReply);
    await expect(moved).rejects.toBe(away);
    expect(move).not.toHaveBeenCalled();
  });
});
