import { expect, it } from '@jest/globals';
import type { EndpointId, OrgId, RecoveryId } from '#libs/domain';
import type { AuditActor, EndpointRecords, RecoveryRecords } from '#libs/postgres';
import { aStageKit } from '../../../../test/support/stage-kit.js';
import { Recoveries } from './recoveries.js';

type Parameters = ConstructorParameters<typeof Recoveries>;

const ORG = 'org' as OrgId;
const ENDPOINT = 'whe_1' as EndpointId;

it('a recovery that begins while the process ends is left to another process', async () => {
  const ends: unknown[] = [];
  const releases: unknown[] = [];
  const id = 'rec_1' as RecoveryId;
  const records = {
    by: () => records,
    begin: () => Promise.resolve({ id, orgId: ORG, endpointId: ENDPOINT, matched: 0, scheduled: 0 }),
    end: (...end: unknown[]) => ends.push(end),
    release: (...release: unknown[]) => Promise.resolve(releases.push(release)),
    claim: () => Promise.resolve(undefined),
  };
  const { clock, logger } = aStageKit({ nowMs: 0 });
  const none = {} as never;
  const recoveries = new Recoveries(
    { find: () => Promise.resolve({ id: ENDPOINT, isActive: true }) } as unknown as EndpointRecords,
    none,
    records as unknown as RecoveryRecords,
    none,
    none,
    none,
    { recoveryId: () => id } as Parameters[6],
    none,
    none,
    clock,
    logger,
  );
  await recoveries.beforeApplicationShutdown();
  const begun = await recoveries.recover(ORG, ENDPOINT, { since_seq: 0 }, {} as AuditActor);
  expect(begun).toEqual({ id, complete: false, matched: 0, scheduled: 0 });
  expect(ends).toEqual([]);
  expect(releases).toEqual([[expect.objectContaining({ id }), expect.any(String), 0]]);
});
