import { expect, it } from '@jest/globals';
import type { EndpointId, OrgId, RecoveryId } from '#libs/domain';
import {
  NOT_BEGUN,
  type AuditActor,
  type EndpointRecords,
  type RecoveryOrder,
  type RecoveryRecords,
} from '#libs/postgres';
import { oneTo } from '../../../../test/support/sequence.js';
import { aStageKit } from '../../../../test/support/stage-kit.js';
import { Recoveries } from './recoveries.js';

type Parameters = ConstructorParameters<typeof Recoveries>;

const ORG = 'org' as OrgId;
const ENDPOINT = 'whe_1' as EndpointId;

/** One recovery, as far as its turns need it. */
const aRecovery = (orgId: OrgId, id: string) => ({
  id: id as RecoveryId,
  orgId,
  endpointId: ENDPOINT,
  range: {},
  matched: 0,
  scheduled: 0,
});

/**
 * Recoveries of which some wait for a turn.
 * @param postgresMs the clock of Postgres; that of the process is at 0
 * @param page a page that is asked for; by default it never comes
 * @param end whether a recovery could be ended
 */
function someRecoveries({
  postgresMs = 0,
  page = () => new Promise<never>(() => undefined),
  end = () => Promise.resolve(true),
} = {}) {
  const ends: unknown[] = [];
  const releases: unknown[] = [];
  const waiting: ReturnType<typeof aRecovery>[] = [];
  const served: (readonly OrgId[])[] = [];
  const pruned: number[] = [];
  const prunedBefore: number[] = [];
  const records = {
    by: () => records,
    begin: (id: RecoveryId, { orgId }: RecoveryOrder) => Promise.resolve(aRecovery(orgId, id)),
    end: (...given: unknown[]) => {
      ends.push(given);
      return end();
    },
    release: (...release: unknown[]) => Promise.resolve(releases.push(release)),
    claim: (_worker: unknown, orgIds: readonly OrgId[]) => {
      served.push(orgIds);
      return Promise.resolve(waiting.shift());
    },
    prune: (before: Date) => {
      prunedBefore.push(before.getTime());
      return Promise.resolve(pruned.shift() ?? 0);
    },
  };
  const asked: OrgId[] = [];
  const source = {
    pending: () => Promise.resolve(0),
    page: (orgId: OrgId) => {
      asked.push(orgId);
      return page();
    },
  };
  let begun = 0;
  const { clock, logger } = aStageKit({ nowMs: 0 });
  const none = {} as never;
  const recoveries = new Recoveries(
    { find: () => Promise.resolve({ id: ENDPOINT, isActive: true }) } as unknown as EndpointRecords,
    source as unknown as Parameters[1],
    records as unknown as RecoveryRecords,
    none,
    none,
    { areComplete: () => Promise.resolve(true) } as unknown as Parameters[5],
    { lookTime: () => Promise.resolve({ nowMs: 0, routedBeforeMs: 0 }) } as unknown as Parameters[6],
    { recoveryId: () => `rec_${++begun}` as RecoveryId } as Parameters[7],
    { query: () => Promise.resolve([{ now_ms: String(postgresMs) }]) } as unknown as Parameters[8],
    none,
    { retentionMs: 0 } as Parameters[10],
    clock,
    logger,
  );
  const recover = (orgId: OrgId) => recoveries.recover(orgId, ENDPOINT, { since_seq: 0 }, {} as AuditActor);
  const { signal } = new AbortController();
  const look = () => (recoveries as unknown as { act(signal: AbortSignal): Promise<undefined> }).act(signal);
  return { recoveries, recover, look, waiting, served, asked, ends, releases, pruned, prunedBefore };
}

/** Lets everything run that waits for nothing. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

it('a recovery that begins while the process ends is left to another process', async () => {
  const { recoveries, recover, ends, releases } = someRecoveries();
  await recoveries.beforeApplicationShutdown();
  expect(await recover(ORG)).toEqual({ id: 'rec_1', complete: false, matched: 0, scheduled: 0 });
  expect(ends).toEqual([]);
  expect(releases).toEqual([[expect.objectContaining({ id: 'rec_1' }), expect.any(String), 0]]);
});

const failingPage = () => Promise.reject(new Error('away'));

it('a recovery that fails before it has sent anything is ended, and its request fails', async () => {
  const { recover, ends } = someRecoveries({ page: failingPage });
  await expect(recover(ORG)).rejects.toThrow('away');
  expect(ends).toEqual([
    [expect.objectContaining({ id: 'rec_1' }), expect.any(String), expect.objectContaining({ error: NOT_BEGUN })],
  ]);
});

it.each([
  ['Postgres is away', () => Promise.reject<boolean>(new Error('away'))],
  ['another process works on it', () => Promise.resolve(false)],
])('a recovery that cannot be ended, since %s, goes on, and its request says so', async (_why, end) => {
  const { recover } = someRecoveries({ page: failingPage, end });
  expect(await recover(ORG)).toEqual({ id: 'rec_1', complete: false, matched: 0, scheduled: 0 });
});

it.each([
  ['is complete', null, true],
  ['is not complete while an event is open', 7, false],
])('a dry run %s', async (_what, firstUndecided, complete) => {
  const page = () => Promise.resolve({ events: [], next: null, firstUndecided } as never);
  const { recoveries } = someRecoveries({ page });
  const order = { since_seq: 0, dry_run: true };
  expect(await recoveries.recover(ORG, ENDPOINT, order, {} as AuditActor)).toMatchObject({ id: null, complete });
});

it('an organization that begins many recoveries leaves the turns to those of others', async () => {
  const { recover, look, waiting, asked, releases } = someRecoveries();
  const other = 'other' as OrgId;
  for (let n = 0; n < 2; n++) void recover(ORG);
  await settled();
  const answers = await Promise.all(oneTo(2).map(() => recover(ORG)));
  // They wait for a turn, too.
  expect(answers).toEqual(['rec_3', 'rec_4'].map((id) => ({ id, complete: false, matched: 0, scheduled: 0 })));
  expect(releases).toEqual(['rec_3', 'rec_4'].map((id) => [expect.objectContaining({ id }), expect.any(String), 0]));
  waiting.push(aRecovery(other, 'rec_5'));
  await look();
  await settled();
  expect(asked).toEqual([ORG, ORG, other]);
});

it('organizations take turns while recoveries of any wait', async () => {
  const { look, waiting, served } = someRecoveries();
  const [one, other] = ['one' as OrgId, 'other' as OrgId];
  waiting.push(aRecovery(one, 'rec_1'), aRecovery(other, 'rec_2'), aRecovery(one, 'rec_3'));
  await look();
  await look();
  expect(served).toEqual([[], [one], [one, other], [other, one], []]);
});

it('recoveries that are past retention are all removed by one look, in steps', async () => {
  const { look, pruned } = someRecoveries();
  pruned.push(1_000, 1_000, 7, 1_000);
  await look();
  expect(pruned).toEqual([1_000]);
});

it.each([
  [10, 0],
  [-10, -10],
])('recoveries are past retention by the clock that is behind: %i ms', async (postgresMs, expected) => {
  const { look, prunedBefore } = someRecoveries({ postgresMs });
  await look();
  expect(prunedBefore).toEqual([expected]);
});
