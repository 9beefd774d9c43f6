import { expect, it } from '@jest/globals';
import type { ApiKeyId } from '#libs/domain';
import type { ApiKeyRecords } from '#libs/postgres';
import { aStageKit } from '../../../../test/support/stage-kit.js';
import { KeyUses } from './key-uses.js';

const [FREE, HELD, BUSY] = ['gk_free' as ApiKeyId, 'gk_held' as ApiKeyId, 'gk_busy' as ApiKeyId];

it('the use of a key that something holds is written with the next flush, unless it was used again', async () => {
  const written: ReadonlyMap<ApiKeyId, Date>[] = [];
  const touch = (given: ReadonlyMap<ApiKeyId, Date>) => {
    written.push(given);
    if (written.length > 1) return Promise.resolve([]);
    uses.note(BUSY, 5_000);
    return Promise.resolve([HELD, BUSY]);
  };
  const uses = new KeyUses({ touch } as unknown as ApiKeyRecords, aStageKit({ nowMs: 0 }).logger);
  for (const id of [FREE, HELD, BUSY]) uses.note(id, 1_000);
  for (let flush = 0; flush < 3; flush++) await uses.flush();
  expect(written.slice(1)).toEqual([
    new Map([
      [BUSY, new Date(5_000)],
      [HELD, new Date(1_000)],
    ]),
  ]);
});
