import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseOrgId, type EventId, type OrgId } from '../kernel/index.js';
import { FingerprintTable } from './fingerprint-table.js';
import { idFingerprint, type IdFingerprint } from './id-fingerprint.js';
import { ID_SEGMENT_MS, ID_SEGMENTS, ID_WINDOW_MS, IdWindow, type IdStretch } from './id-window.js';

const ORG = parseOrgId('10000000-0000-4000-8000-000000000000')!;
const START_MS = 1_000_000 * ID_SEGMENT_MS;
const HOUR_MS = 3_600_000;

function print(n: number, orgId: OrgId = ORG): IdFingerprint {
  return idFingerprint(orgId, `evt_${String(n).padStart(16, '0')}` as EventId);
}

/** A window as it is described: a list of everything that came, with the number of its segment. */
class NaiveWindow {
  #entries: { n: number; segment: number }[] = [];
  #clockMs = 0;

  timeOf(inboxMs: number): number {
    const isSetBack = Math.floor(inboxMs / ID_SEGMENT_MS) < Math.floor(this.#clockMs / ID_SEGMENT_MS) - 15;
    return isSetBack ? inboxMs : Math.max(inboxMs, this.#clockMs);
  }

  has(n: number, timeMs: number): boolean {
    const now = Math.floor(timeMs / ID_SEGMENT_MS);
    return this.#entries.some((entry) => entry.n === n && entry.segment > now - ID_SEGMENTS);
  }

  add(n: number, timeMs: number): void {
    const now = Math.floor(timeMs / ID_SEGMENT_MS);
    if (timeMs < this.#clockMs)
      this.#entries = this.#entries.map((old) => ({ ...old, segment: Math.min(old.segment, now) }));
    this.#clockMs = timeMs;
    this.#entries = this.#entries.filter(({ segment }) => segment > now - ID_SEGMENTS);
    this.#entries.push({ n, segment: now });
  }
}

/** Records of the inbox: mostly a little later than the one before, sometimes much later, or earlier. */
const arrivals = fc.array(
  fc.record({
    n: fc.nat({ max: 12 }),
    stepMs: fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 0, max: 3 * 60_000 }) },
      { weight: 1, arbitrary: fc.integer({ min: -HOUR_MS / 2, max: 2 * HOUR_MS }) },
      { weight: 1, arbitrary: fc.integer({ min: -3 * HOUR_MS, max: 0 }) },
    ),
  }),
  { maxLength: 80 },
);

describe('the window of ids', () => {
  it('knows at each time exactly what a list of everything would say', () => {
    fc.assert(
      fc.property(arrivals, (steps) => {
        const [window, naive] = [new IdWindow(), new NaiveWindow()];
        let inboxMs = START_MS;
        for (const [offset, { n, stepMs }] of steps.entries()) {
          inboxMs += stepMs;
          const timeMs = window.timeOf(inboxMs);
          expect(timeMs).toBe(naive.timeOf(inboxMs));
          const isKnown = window.has(print(n), timeMs);
          expect(isKnown).toBe(naive.has(n, timeMs));
          if (isKnown) continue;
          window.add(print(n), timeMs, offset);
          naive.add(n, timeMs);
        }
      }),
    );
  });

  it('knows an id for at least 15 minutes, and for at most 20', () => {
    fc.assert(
      fc.property(fc.nat({ max: ID_SEGMENT_MS }), fc.nat({ max: HOUR_MS }), (after, laterMs) => {
        const window = new IdWindow();
        window.add(print(1), START_MS + after, 0);
        const isKnown = window.has(print(1), START_MS + after + laterMs);
        if (laterMs <= 15 * 60_000) expect(isKnown).toBe(true);
        if (laterMs > 20 * 60_000) expect(isKnown).toBe(false);
      }),
    );
    expect(ID_WINDOW_MS).toBeGreaterThanOrEqual(15 * 60_000);
  });

  it('is the same when it is restored from what it handed over and the log after that', () => {
    fc.assert(
      fc.property(arrivals, fc.nat(), fc.nat(), (steps, one, other) => {
        const window = new IdWindow();
        const log: { n: number; timeMs: number }[] = [];
        const stretches: IdStretch[] = [];
        const checkpointAt = one % (steps.length + 1);
        let [clockMs, coveredTo] = [0, 0];
        let inboxMs = START_MS;
        for (const [index, { n, stepMs }] of steps.entries()) {
          if (index <= checkpointAt && (index % 7 === 0 || index === checkpointAt)) {
            stretches.push(...window.takeAdded());
            [clockMs, coveredTo] = [window.clockMs, log.length];
          }
          // A clock that was set back is another spec's.
          inboxMs = Math.max(inboxMs + stepMs, START_MS);
          const timeMs = Math.max(window.clockMs, inboxMs);
          if (window.has(print(n), timeMs)) continue;
          window.add(print(n), timeMs, log.length);
          log.push({ n, timeMs });
        }
        const restored = new IdWindow(clockMs);
        for (const stretch of stretches) restored.restore(stretch);
        for (const [offset, { n, timeMs }] of log.entries()) {
          if (offset >= other % (coveredTo + 1)) restored.replay(print(n), timeMs, offset, offset >= coveredTo);
        }
        expect(restored.clockMs).toBe(window.clockMs);
        for (const laterMs of [0, 5 * 60_000, 10 * 60_000, 15 * 60_000, 19 * 60_000]) {
          for (let n = 0; n <= 12; n++) {
            const timeMs = window.clockMs + laterMs;
            expect(restored.has(print(n), timeMs)).toBe(window.has(print(n), timeMs));
          }
        }
      }),
    );
  });

  it('says from which log offset on it has all ids', () => {
    const window = new IdWindow();
    expect(window.coversFrom(START_MS)).toBeNull();
    for (let n = 0; n < 10; n++) window.add(print(n), START_MS + n * ID_SEGMENT_MS, 100 + n);
    expect(window.coversFrom(window.clockMs)).toBe(105);
    expect(window.coversFrom(window.clockMs + 2 * ID_SEGMENT_MS)).toBe(107);
    expect(window.coversFrom(window.clockMs + HOUR_MS)).toBeNull();
  });

  it('keeps its ids when two brokers differ by some minutes, and lets them go when a wrong clock is corrected', () => {
    const window = new IdWindow();
    window.add(print(1), START_MS + 10 * 60_000, 0);
    expect(window.timeOf(START_MS)).toBe(START_MS + 10 * 60_000);
    window.add(print(2), START_MS + 100 * HOUR_MS, 1);
    const correctedMs = window.timeOf(START_MS + 11 * 60_000);
    expect(correctedMs).toBe(START_MS + 11 * 60_000);
    expect(window.has(print(2), correctedMs)).toBe(true);
    window.add(print(3), correctedMs, 2);
    window.add(print(4), correctedMs + HOUR_MS, 3);
    expect(window.has(print(2), correctedMs + HOUR_MS)).toBe(false);
    expect(window.size).toBe(1);
  });

  it('replays an earlier record without going back in time, and ignores one that has left the window', () => {
    const window = new IdWindow();
    window.add(print(3), START_MS, 9);
    window.replay(print(1), START_MS - ID_SEGMENT_MS, 1, true);
    window.replay(print(2), START_MS - ID_SEGMENTS * ID_SEGMENT_MS, 0, true);
    window.replay(print(3), START_MS, 4, false);
    expect(window.clockMs).toBe(START_MS);
    expect(window.has(print(1), START_MS)).toBe(true);
    expect(window.size).toBe(2);
    expect(window.coversFrom(START_MS)).toBe(1);
    expect(window.coversFrom(START_MS + 4 * ID_SEGMENT_MS)).toBe(4);
  });

  it('is set back by a new record of the log, and not by a repeat of an old one', () => {
    const window = new IdWindow(START_MS + 100 * HOUR_MS);
    window.replay(print(1), START_MS, 0, false);
    expect(window.clockMs).toBe(START_MS + 100 * HOUR_MS);
    window.replay(print(1), START_MS, 1, true);
    expect(window.clockMs).toBe(START_MS);
  });

  it('restores nothing that has left the window', () => {
    const window = new IdWindow();
    window.add(print(1), START_MS, 0);
    const [stretch] = window.takeAdded();
    const restored = new IdWindow(START_MS + ID_SEGMENTS * ID_SEGMENT_MS);
    restored.restore(stretch!);
    expect(restored.size).toBe(0);
  });

  it('restores ids from before its clock was set back, and lets them go with the others', () => {
    const window = new IdWindow();
    window.add(print(1), START_MS + 100 * HOUR_MS, 0);
    const [stretch] = window.takeAdded();
    const restored = new IdWindow(START_MS);
    restored.restore(stretch!);
    expect(restored.has(print(1), START_MS)).toBe(true);
    restored.add(print(2), START_MS + HOUR_MS, 1);
    expect(restored.size).toBe(1);
  });

  it('hands over each id once, with the stretch of the log that it comes from', () => {
    const window = new IdWindow();
    for (let n = 0; n < 5; n++) window.add(print(n), START_MS, 40 + n);
    window.add(print(5), START_MS + ID_SEGMENT_MS, 45);
    const added = window.takeAdded();
    expect(added.map(({ beginMs, from, to, fingerprints }) => [beginMs, from, to, fingerprints.length])).toEqual([
      [START_MS, 40, 45, 80],
      [START_MS + ID_SEGMENT_MS, 45, 46, 16],
    ]);
    expect(window.takeAdded()).toEqual([]);
  });

  it('hands over as many ids as there are', () => {
    const window = new IdWindow();
    for (let n = 0; n < 200; n++) window.add(print(n), START_MS, n);
    const restored = new IdWindow(START_MS);
    for (const stretch of window.takeAdded()) restored.restore(stretch);
    for (let n = 0; n < 200; n++) expect(restored.has(print(n), START_MS)).toBe(true);
    expect(restored.size).toBe(200);
  });
});

describe('a table of fingerprints', () => {
  it('has what was added and nothing else, however much it grows', () => {
    const table = new FingerprintTable();
    const odd = Array.from({ length: 5_000 }, (_, n) => print(2 * n + 1));
    for (const entry of odd) expect(table.add(entry)).toBe(true);
    for (const entry of odd) expect(table.add(entry)).toBe(false);
    expect(table.size).toBe(5_000);
    for (let n = 0; n < 10_000; n++) expect(table.has(print(n))).toBe(n % 2 === 1);
  });

  it('distinguishes fingerprints that begin alike, and takes one of only zeros', () => {
    const table = new FingerprintTable();
    for (let n = 0; n < 200; n++) table.add([64, 0, 0, n]);
    expect(table.has([64, 0, 0, 199])).toBe(true);
    expect(table.has([64, 0, 0, 200])).toBe(false);
    expect(table.has([0, 0, 0, 0])).toBe(false);
    expect(table.add([0, 0, 0, 0])).toBe(true);
    expect(table.add([0, 0, 0, 0])).toBe(false);
    expect(table.has([0, 0, 0, 0])).toBe(true);
  });

  it('compares all words of a fingerprint, of which any may be zero', () => {
    const words = [0, 64];
    const all = words.flatMap((a) =>
      words.flatMap((b) => words.flatMap((c) => words.map((d) => [a, b, c, d] as const))),
    );
    const table = new FingerprintTable();
    for (const [index, entry] of all.entries()) {
      expect(table.has(entry)).toBe(false);
      expect(table.add(entry)).toBe(true);
      expect(table.size).toBe(index + 1);
    }
    for (const entry of all) expect(table.add(entry)).toBe(false);
  });

  it('has those that checkpoints hold: the first 16 bytes of a SHA-256', () => {
    const digest = createHash('sha256').update(`${ORG}/evt_0000000000000001`).digest();
    expect(print(1)).toEqual([0, 4, 8, 12].map((at) => digest.readInt32LE(at)));
  });

  it('distinguishes the same id of two orgs', () => {
    const other = parseOrgId('20000000-0000-4000-8000-000000000000')!;
    expect(print(1)).not.toEqual(print(1, other));
  });
});
