import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseOrgId, type EventId, type OrgId, type Seq } from '../kernel/index.js';
import { OrgSequences } from './org-sequences.js';
import { RECENT_IDS_PER_ORG } from './recent-ids.js';

const ORGS = [1, 2, 3].map((n) => parseOrgId(`${n}0000000-0000-4000-8000-000000000000`)!);
const [ORG, OTHER] = ORGS as [OrgId, OrgId];

function eventId(n: number): EventId {
  return `evt_${String(n).padStart(16, '0')}` as EventId;
}

interface InboxEvent {
  readonly orgId: OrgId;
  readonly id: EventId;
}

interface Logged extends InboxEvent {
  readonly seq: Seq;
}

/** Few ids and few orgs, so that repeats are frequent. */
const inbox = fc.array(fc.record({ orgId: fc.constantFrom(...ORGS), id: fc.nat({ max: 20 }).map(eventId) }), {
  maxLength: 60,
});

/** Appends what is not a repeat. */
function foldInto(sequences: OrgSequences, events: readonly InboxEvent[]): readonly Logged[] {
  return events.flatMap((event) => {
    const appending = sequences.append(event.orgId, event.id);
    return appending.kind === 'repeat' ? [] : [{ ...event, seq: appending.seq }];
  });
}

describe('OrgSequences', () => {
  it('numbers each org 1, 2, 3 … without a gap, and each id once', () => {
    fc.assert(
      fc.property(inbox, (events) => {
        const log = foldInto(new OrgSequences(), events);
        for (const orgId of ORGS) {
          const ofOrg = log.filter((event) => event.orgId === orgId);
          expect(ofOrg.map(({ seq }) => seq)).toEqual(ofOrg.map((_, index) => index + 1));
          const firsts = [...new Set(events.filter((event) => event.orgId === orgId).map(({ id }) => id))];
          expect(ofOrg.map(({ id }) => id)).toEqual(firsts);
        }
      }),
    );
  });

  it('takes no seq for a repeat, and tells ids of orgs apart', () => {
    const sequences = new OrgSequences();
    expect(sequences.append(ORG, eventId(1))).toEqual({ kind: 'appended', seq: 1 });
    expect(sequences.append(ORG, eventId(1))).toEqual({ kind: 'repeat' });
    expect(sequences.append(OTHER, eventId(1))).toEqual({ kind: 'appended', seq: 1 });
    expect(sequences.append(ORG, eventId(2))).toEqual({ kind: 'appended', seq: 2 });
  });

  it('recognises a repeat for as long as it is among the latest ids of its org', () => {
    const sequences = new OrgSequences();
    for (let n = 1; n <= RECENT_IDS_PER_ORG; n++) sequences.append(ORG, eventId(n));
    for (let n = 1; n <= 5; n++) sequences.append(OTHER, eventId(n + 50_000));
    expect(sequences.append(ORG, eventId(1)).kind).toBe('repeat');
    sequences.append(ORG, eventId(RECENT_IDS_PER_ORG + 1));
    expect(sequences.append(ORG, eventId(1))).toEqual({ kind: 'appended', seq: RECENT_IDS_PER_ORG + 2 });
  });

  it('writes the same log when it is restored at any point from a snapshot and the log behind it', () => {
    fc.assert(
      fc.property(inbox, fc.nat(), fc.nat(), (events, one, other) => {
        const points = [one, other].map((n) => n % (events.length + 1)).sort((a, b) => a - b);
        const [snapshotAt, restartAt] = points as [number, number];
        const whole = foldInto(new OrgSequences(), events);

        const before = new OrgSequences();
        const covered = foldInto(before, events.slice(0, snapshotAt));
        const snapshots = before.takeChanged();
        const appended = foldInto(before, events.slice(snapshotAt, restartAt));

        const restored = new OrgSequences();
        for (const [orgId, snapshot] of snapshots) restored.restore(orgId, snapshot);
        // More of the log than is needed, and stretches of it again: repeats of the log change nothing.
        for (const { orgId, seq, id } of [...covered, ...appended, ...appended, ...covered])
          restored.replay(orgId, seq, id);
        const rest = foldInto(restored, events.slice(restartAt));
        expect([...covered, ...appended, ...rest]).toEqual(whole);

        before.takeChanged();
        foldInto(before, events.slice(restartAt));
        before.markAllChanged();
        restored.markAllChanged();
        expect(restored.takeChanged()).toEqual(before.takeChanged());
      }),
    );
  });

  it('forgets what was not written when it is restored: those events get the same seqs again', () => {
    const sequences = new OrgSequences();
    sequences.append(ORG, eventId(1));
    const snapshot = sequences.takeChanged().get(ORG)!;
    sequences.append(ORG, eventId(2));
    const restored = new OrgSequences();
    restored.restore(ORG, snapshot);
    expect(restored.append(ORG, eventId(3))).toEqual({ kind: 'appended', seq: 2 });
    expect(restored.append(ORG, eventId(2))).toEqual({ kind: 'appended', seq: 3 });
  });

  it('tells each org that changed once, as it is then', () => {
    const sequences = new OrgSequences();
    sequences.append(ORG, eventId(1));
    sequences.append(OTHER, eventId(2));
    sequences.append(ORG, eventId(3));
    expect(sequences.takeChanged()).toEqual(
      new Map([
        [ORG, { lastSeq: 2, recentIds: [eventId(1), eventId(3)] }],
        [OTHER, { lastSeq: 1, recentIds: [eventId(2)] }],
      ]),
    );
    sequences.append(ORG, eventId(3));
    expect(sequences.takeChanged().size).toBe(0);
    sequences.append(OTHER, eventId(4));
    expect([...sequences.takeChanged().keys()]).toEqual([OTHER]);
    sequences.markAllChanged();
    expect([...sequences.takeChanged().keys()]).toEqual([ORG, OTHER]);
  });
});
