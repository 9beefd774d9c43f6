import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseOrgId, type EventId, type OrgId, type Seq } from '../kernel/index.js';
import { ID_WINDOW_MS, type IdStretch } from './id-window.js';
import { PartitionFold, type Received } from './partition-fold.js';

const ORGS = [1, 2, 3].map((n) => parseOrgId(`${n}0000000-0000-4000-8000-000000000000`)!);
const [ORG, OTHER] = ORGS as [OrgId, OrgId];
const START_MS = 1_750_000_000_000;

function eventId(n: number): EventId {
  return `evt_${String(n).padStart(16, '0')}` as EventId;
}

function received(orgId: OrgId, n: number, inboxMs = START_MS): Received {
  return { orgId, id: eventId(n), inboxMs };
}

interface Logged extends Received {
  readonly seq: Seq;
  readonly timeMs: number;
}

/** Few ids and few orgs, so that repeats are frequent, over some hours. */
const inbox = fc
  .array(
    fc.record({
      orgId: fc.constantFrom(...ORGS),
      id: fc.nat({ max: 20 }).map(eventId),
      stepMs: fc.integer({ min: -60_000, max: 6 * 60_000 }),
    }),
    { maxLength: 60 },
  )
  .map((records) => {
    let inboxMs = START_MS;
    return records.map(({ orgId, id, stepMs }): Received => ({ orgId, id, inboxMs: (inboxMs += stepMs) }));
  });

/** Appends what is not a repeat. */
function foldInto(fold: PartitionFold, events: readonly Received[], logEnd = 0): readonly Logged[] {
  const log: Logged[] = [];
  for (const event of events) {
    const appending = fold.append(event, logEnd + log.length);
    if (appending.kind === 'appended') log.push({ ...event, seq: appending.seq, timeMs: appending.timeMs });
  }
  return log;
}

describe('the fold of a partition', () => {
  it('numbers each org 1, 2, 3 … without a gap, and each id once within the window', () => {
    fc.assert(
      fc.property(inbox, (events) => {
        const log = foldInto(new PartitionFold(), events);
        for (const orgId of ORGS) {
          const ofOrg = log.filter((event) => event.orgId === orgId);
          expect(ofOrg.map(({ seq }) => seq)).toEqual(ofOrg.map((_, index) => index + 1));
          for (const [index, { id, timeMs }] of ofOrg.entries()) {
            const before = ofOrg
              .slice(0, index)
              .filter((earlier) => earlier.id === id)
              .at(-1);
            if (before !== undefined) expect(timeMs - before.timeMs).toBeGreaterThan(15 * 60_000);
          }
        }
        for (const { orgId, id } of events) {
          expect(log.some((event) => event.orgId === orgId && event.id === id)).toBe(true);
        }
      }),
    );
  });

  it('takes no seq for a repeat, and keeps ids of orgs apart', () => {
    const fold = new PartitionFold();
    expect(fold.append(received(ORG, 1), 0)).toMatchObject({ kind: 'appended', seq: 1 });
    expect(fold.append(received(ORG, 1), 1)).toEqual({ kind: 'repeat' });
    expect(fold.append(received(OTHER, 1), 1)).toMatchObject({ kind: 'appended', seq: 1 });
    expect(fold.append(received(ORG, 2), 2)).toMatchObject({ kind: 'appended', seq: 2 });
  });

  it('recognises a repeat after however many others, for as long as the window is', () => {
    const fold = new PartitionFold();
    for (let n = 1; n <= 20_000; n++) fold.append(received(ORG, n), n - 1);
    expect(fold.append(received(ORG, 1, START_MS + ID_WINDOW_MS), 20_000).kind).toBe('repeat');
    expect(fold.append(received(ORG, 1, START_MS + 2 * ID_WINDOW_MS), 20_000).kind).toBe('appended');
  });

  it('looks into the log before the window if asked to', () => {
    const fold = new PartitionFold();
    expect(fold.append(received(ORG, 1), 7, () => true)).toEqual({ kind: 'repeat' });
    expect(fold.append(received(ORG, 1), 7, () => false)).toMatchObject({ kind: 'appended', seq: 1 });
  });

  it('writes the same log when it is restored at any point from a checkpoint and the log after it', () => {
    fc.assert(
      fc.property(inbox, fc.nat(), fc.nat(), fc.nat(), (events, one, other, third) => {
        const points = [one, other].map((n) => n % (events.length + 1)).sort((a, b) => a - b);
        const [checkpointAt, restartAt] = points as [number, number];
        const whole = foldInto(new PartitionFold(), events);

        const before = new PartitionFold();
        const covered = foldInto(before, events.slice(0, checkpointAt));
        const lastSeqs = before.sequences.takeChanged();
        const ids: readonly IdStretch[] = before.ids.takeAdded();
        const clockMs = before.ids.clockMs;
        const appended = foldInto(before, events.slice(checkpointAt, restartAt), covered.length);

        const restored = new PartitionFold(clockMs);
        for (const [orgId, lastSeq] of lastSeqs) restored.sequences.restore(orgId, lastSeq);
        for (const stretch of ids) restored.ids.restore(stretch);
        // More of the log than is needed, and stretches of it again, as a sequencer that was frozen may leave them.
        const log = [...covered, ...appended, ...appended];
        for (const [offset, record] of log.entries()) {
          if (offset >= third % (covered.length + 1)) restored.replay(record, offset);
        }
        const rest = foldInto(restored, events.slice(restartAt), log.length);
        expect([...covered, ...appended, ...rest]).toEqual(whole);

        foldInto(before, events.slice(restartAt), covered.length + appended.length);
        before.sequences.markAllChanged();
        restored.sequences.markAllChanged();
        expect(restored.sequences.takeChanged()).toEqual(before.sequences.takeChanged());
      }),
    );
  });
});
