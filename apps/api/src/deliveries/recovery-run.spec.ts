import { describe, expect, it } from '@jest/globals';
import type { EndpointId, OrgId, RecoveryId, Seq } from '#libs/domain';
import type { EndpointRecord, EndpointRecords, RecoveryPage, RecoveryRecord, RecoveryStep } from '#libs/postgres';
import { RecoveryRun, type RecoveryRunDependencies } from './recovery-run.js';

const RECOVERY: RecoveryRecord = {
  id: 'rec_1' as RecoveryId,
  orgId: 'org' as OrgId,
  endpointId: 'whe_1' as EndpointId,
  kinds: ['never_sent'],
  range: { sinceSeq: 0 as Seq, since: null, until: null, throughSeq: 9_000 as Seq },
  throughSeq: 9_000 as Seq,
  afterSeq: 0 as Seq,
  matched: 0,
  scheduled: 0,
  status: 'running',
  error: null,
  createdAt: new Date(0),
  endedAt: null,
};

type Look = (after: Seq) => RecoveryPage;

/** A run over pages that are given one after the other, and what it noted. */
function aRun(looks: readonly Look[], { isActive = true, pending = () => 0 } = {}) {
  const asked: number[] = [];
  const steps: RecoveryStep[] = [];
  const ends: unknown[] = [];
  const pages = [...looks];
  const use = {
    endpoints: { find: () => Promise.resolve({ id: RECOVERY.endpointId, isActive } as EndpointRecord) },
    source: {
      pending: () => Promise.resolve(pending()),
      page: (...[, , , , after]: unknown[]) => {
        asked.push(after as number);
        const look = pages.shift();
        if (look === undefined) throw new Error('there is no other page');
        return Promise.resolve(look(after as Seq));
      },
    },
    records: {
      keep: () => Promise.resolve(true),
      step: (_recovery: unknown, _worker: unknown, step: RecoveryStep) => Promise.resolve(steps.push(step) > 0),
      end: (
        _recovery: unknown,
        _worker: unknown,
        { status, error = null }: { status: string; error?: string | null },
      ) => Promise.resolve(ends.push([status, error]) > 0),
    },
    appender: { append: () => Promise.resolve() },
    clock: { now: () => 0 },
    worker: 'worker',
    signal: new AbortController().signal,
  };
  const run = new RecoveryRun(RECOVERY, use as unknown as RecoveryRunDependencies & { endpoints: EndpointRecords });
  return { run, asked, steps, ends };
}

const page =
  (next: number | null, firstUndecided: number | null = null): Look =>
  () => ({ events: [], next: next as Seq | null, firstUndecided: firstUndecided as Seq | null });

describe('a recovery of what was never sent', () => {
  it('goes back to the first event that routing may still send, over pages, until there is none', async () => {
    const { run, asked, steps, ends } = aRun([page(5_000, 40), page(null, 6_000), page(5_000), page(null)]);
    await run.run();
    expect(asked).toEqual([0, 5_000, 39, 5_000]);
    // Whoever takes it over has to look at them, too.
    expect(steps.map(({ afterSeq }) => afterSeq)).toEqual([39, 39, 5_000, 9_000]);
    expect(ends).toEqual([['done', null]]);
    expect(run.progress.complete).toBe(true);
  });

  it('ends at once when there is none', async () => {
    const { run, asked, ends } = aRun([page(null)]);
    await run.run();
    expect([asked, ends]).toEqual([[0], [['done', null]]]);
  });

  it('fails when the endpoint is inactive', async () => {
    const { run, ends } = aRun([], { isActive: false });
    await run.run();
    expect(ends).toEqual([['failed', 'endpoint_inactive']]);
  });
});
