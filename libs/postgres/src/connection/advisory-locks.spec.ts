import { expect, it } from '@jest/globals';
import type { QueryRunner } from 'typeorm';
import { lockFor } from './advisory-locks.js';

it('the locks of requests keep their names, since old and new versions run side by side', async () => {
  const taken: unknown[] = [];
  const runner = { query: (sql: string, parameters: unknown) => Promise.resolve(taken.push([sql, parameters])) };
  for (const what of ['apiKeys', 'endpoints', 'feedCursors', 'liveChatSettings', 'recoveries'] as const) {
    await lockFor(runner as unknown as QueryRunner, what, 'an-id');
  }
  const names = ['api keys of ', 'endpoints of ', 'feed cursors of ', 'live-chat settings of ', 'recoveries of '];
  expect(taken).toEqual(
    names.map((name) => [`select pg_advisory_xact_lock(hashtextextended('${name}' || $1, 0))`, ['an-id']]),
  );
});
