import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { EndpointId, EventId, OrgId, RecoveryId, Seq } from '#libs/domain';
import { topicNames, type NewRecord } from '#libs/kafka-log';
import type {
  EndpointRecord,
  EndpointRecords,
  LookTime,
  Recoverable,
  RecoveryPage,
  RecoveryRecord,
  RecoveryStep,
} from '#libs/postgres';
import { oneTo } from '../../../../test/support/sequence.js';
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

const TOPICS = topicNames('gapless', []);

/** A run over pages that are given one after the other, and what it noted. */
afterEach(() => {
  jest.restoreAllMocks();
});

function aRun(
  looks: readonly Look[],
  {
    isActive = true,
    pending = 0,
    pageMs = 0,
    afterSeq = 0,
    isOwn = true,
    isProjected = true,
    factsMs = 0,
    setBackMs = 0,
  } = {},
) {
  let [nowMs, elapsedMs] = [0, 0];
  jest.spyOn(performance, 'now').mockImplementation(() => elapsedMs);
  const asked: number[] = [];
  const times: LookTime[] = [];
  const appended: NewRecord[] = [];
  const steps: RecoveryStep[] = [];
  const ends: unknown[] = [];
  const releases: number[] = [];
  const pages = [...looks];
  const use = {
    endpoints: {
      find: () => Promise.resolve({ id: RECOVERY.endpointId, orgId: RECOVERY.orgId, isActive } as EndpointRecord),
    },
    facts: {
      areComplete: () => {
        nowMs += factsMs;
        return Promise.resolve(isProjected);
      },
    },
    routing: { lookTime: () => Promise.resolve({ nowMs, routedBeforeMs: nowMs - 60_000 }) },
    source: {
      pending: () => Promise.resolve(pending),
      page: (...[, , , , after, , time]: unknown[]) => {
        asked.push(after as number);
        times.push(time as LookTime);
        nowMs += pageMs - setBackMs;
        elapsedMs += pageMs;
        const look = pages.shift();
        if (look === undefined) throw new Error('there is no other page');
        return Promise.resolve(look(after as Seq));
      },
    },
    records: {
      release: (_recovery: unknown, _worker: unknown, afterMs: number) => Promise.resolve(releases.push(afterMs)),
      step: (_recovery: unknown, _worker: unknown, step: RecoveryStep) => {
        steps.push(step);
        return Promise.resolve(isOwn);
      },
      end: (
        _recovery: unknown,
        _worker: unknown,
        { status, error = null }: { status: string; error?: string | null },
      ) => Promise.resolve(ends.push([status, error]) > 0),
    },
    appender: { append: (records: readonly NewRecord[]) => Promise.resolve(appended.push(...records)) },
    topics: TOPICS,
    clock: { now: () => nowMs },
    worker: 'worker',
    signal: new AbortController().signal,
  };
  const run = new RecoveryRun(
    { ...RECOVERY, afterSeq: afterSeq as Seq },
    use as unknown as RecoveryRunDependencies & { endpoints: EndpointRecords },
  );
  return { run, asked, times, appended, steps, ends, releases };
}

const page =
  (next: number | null, firstUndecided: number | null = null): Look =>
  () => ({ events: [], next: next as Seq | null, firstUndecided: firstUndecided as Seq | null });

/** A page of 200 events, with others after it. */
const fullPage: Look = (after) => ({
  events: oneTo(200).map((n): Recoverable => ({
    kind: 'never_sent',
    eventId: `evt_${after + n}` as EventId,
    event: 'ticket.created',
    seq: (after + n) as Seq,
    createdAtMs: 0,
    previousSeq: null,
    run: 0,
    lastAttemptEndMs: null,
    envelope: Buffer.from('{}'),
  })),
  next: (after + 200) as Seq,
  firstUndecided: null,
});

describe('a recovery', () => {
  it('waits for events that routing may still send, and goes on with the first of them', async () => {
    const first = aRun([page(5_000, 40), page(null, 6_000)]);
    await first.run.run();
    expect(first.asked).toEqual([0, 5_000]);
    // The next turn has to look at them, too.
    expect(first.steps.map(({ afterSeq }) => afterSeq)).toEqual([39, 39]);
    expect([first.releases, first.ends, first.run.progress.complete]).toEqual([[2_000], [], false]);
    const second = aRun([page(5_000), page(null)], { afterSeq: 39 });
    await second.run.run();
    expect(second.asked).toEqual([39, 5_000]);
    expect(second.steps.map(({ afterSeq }) => afterSeq)).toEqual([5_000, 9_000]);
    expect([second.releases, second.ends, second.run.progress.complete]).toEqual([[], [['done', null]], true]);
  });

  it('notes no place beyond the events that it has sent', async () => {
    const first = aRun([page(300, 4_990), page(500, 4_990)], { pageMs: 3_000 });
    await first.run.run();
    expect(first.steps.map(({ afterSeq }) => afterSeq)).toEqual([300, 500]);
    expect(first.releases).toEqual([0]);
  });

  it('leaves the next turn to others after 5 s', async () => {
    const { run, steps, releases, ends } = aRun([page(100), page(200), page(300)], { pageMs: 3_000 });
    await run.run();
    expect([steps.map(({ afterSeq }) => afterSeq), releases, ends]).toEqual([[100, 200], [0], []]);
  });

  it('takes no longer for its turn when the clock is set back', async () => {
    const { run, releases } = aRun([page(100), page(200), page(300)], { pageMs: 3_000, setBackMs: 3_600_000 });
    await run.run();
    expect(releases).toEqual([0]);
  });

  it('sends nothing more to an endpoint with many pending deliveries', async () => {
    const { run, asked, releases, ends } = aRun([], { pending: 5_000 });
    await run.run();
    expect([asked, releases, ends]).toEqual([[], [2_000], []]);
  });

  it('asks for no page while the projection is behind, and goes on once it is not', async () => {
    const behind = aRun([], { isProjected: false });
    await behind.run.run();
    expect([behind.asked, behind.appended, behind.steps]).toEqual([[], [], []]);
    expect([behind.releases, behind.ends]).toEqual([[2_000], []]);
    const caughtUp = aRun([fullPage, page(null)]);
    await caughtUp.run.run();
    expect([caughtUp.asked, caughtUp.appended.length]).toEqual([[0, 200], 400]);
    expect([caughtUp.releases, caughtUp.ends]).toEqual([[], [['done', null]]]);
  });

  it('asks what is routed before it waits for the projection', async () => {
    const { run, times } = aRun([page(100), page(null)], { factsMs: 1_500, pageMs: 1_000 });
    await run.run();
    const first = { nowMs: 0, routedBeforeMs: -60_000 };
    expect(times).toEqual([first, first]);
  });

  it('sends no more than 5,000 in a turn, since the projection may not show them as pending yet', async () => {
    const all = aRun(oneTo(30).map(() => fullPage));
    await all.run.run();
    expect([all.run.progress.scheduled, all.releases, all.ends]).toEqual([5_000, [0], []]);
    const fewer = aRun(
      oneTo(30).map(() => fullPage),
      { pending: 4_000 },
    );
    await fewer.run.run();
    expect([fewer.run.progress.scheduled, fewer.releases, fewer.ends]).toEqual([1_000, [0], []]);
  });

  it('is left alone once it was stopped, or another process has taken it over', async () => {
    const { run, asked, releases, ends } = aRun([page(100)], { isOwn: false });
    await run.run();
    expect([asked, releases, ends]).toEqual([[0], [], []]);
  });

  it('fails when the endpoint is inactive', async () => {
    const { run, ends } = aRun([], { isActive: false });
    await run.run();
    expect(ends).toEqual([['failed', 'endpoint_inactive']]);
  });
});
