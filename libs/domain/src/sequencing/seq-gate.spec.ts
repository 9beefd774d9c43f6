import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseOrgId, type OrgId, type Seq } from '../kernel/index.js';
import { SeqGate } from './seq-gate.js';

const ORG = parseOrgId('10000000-0000-4000-8000-000000000000')!;
const OTHER = parseOrgId('20000000-0000-4000-8000-000000000000')!;

function events(orgId: OrgId, ...seqs: readonly number[]) {
  return seqs.map((seq) => ({ orgId, seq: seq as Seq }));
}

describe('SeqGate', () => {
  it('lets each org through in order, without what it has seen', () => {
    const gate = new SeqGate();
    const { fresh, remember } = gate.sift([...events(ORG, 1, 2), ...events(OTHER, 1)]);
    expect(fresh).toEqual([...events(ORG, 1, 2), ...events(OTHER, 1)]);
    remember();
    expect(gate.sift([...events(ORG, 2, 3), ...events(OTHER, 1)]).fresh).toEqual(events(ORG, 3));
  });

  it('leaves repeats inside a batch out', () => {
    expect(new SeqGate().sift(events(ORG, 1, 2, 1, 2, 3)).fresh).toEqual(events(ORG, 1, 2, 3));
  });

  it('gives the same records again to a reader that failed before it remembered them', () => {
    const gate = new SeqGate();
    gate.sift(events(ORG, 1)).remember();
    gate.sift(events(ORG, 2, 3));
    expect(gate.sift(events(ORG, 1, 2, 3)).fresh).toEqual(events(ORG, 2, 3));
  });

  it('goes on from where an earlier reader was', () => {
    const gate = new SeqGate();
    gate.resume(ORG, 5 as Seq);
    expect(gate.sift([...events(ORG, 4, 5, 6), ...events(OTHER, 1)]).fresh).toEqual([
      ...events(ORG, 6),
      ...events(OTHER, 1),
    ]);
  });

  it('reports a seq that is missing after one that it knows', () => {
    const gate = new SeqGate();
    gate.resume(ORG, 5 as Seq);
    expect(gate.sift(events(ORG, 6, 6, 7)).gaps).toEqual([]);
    expect(gate.sift([...events(ORG, 6, 9, 10, 12), ...events(OTHER, 7)]).gaps).toEqual([
      { orgId: ORG, after: 6, found: 9 },
      { orgId: ORG, after: 10, found: 12 },
    ]);
  });

  it('reads 1, 2, 3 … from a log that repeats stretches of itself, whatever the batches and failures', () => {
    const repeat = fc.record({ at: fc.nat(), back: fc.nat({ max: 8 }) });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.array(repeat, { maxLength: 5 }),
        fc.infiniteStream(fc.record({ size: fc.integer({ min: 1, max: 7 }), fails: fc.boolean() })),
        (length, repeats, batches) => {
          const log: number[] = [];
          for (let seq = 1; seq <= length; seq++) {
            log.push(seq);
            for (const { at, back } of repeats) {
              if (at % length === seq - 1) for (let n = Math.max(1, seq - back); n <= seq; n++) log.push(n);
            }
          }
          const gate = new SeqGate();
          const read: number[] = [];
          for (let place = 0; place < log.length;) {
            const { size, fails } = batches.next().value as { size: number; fails: boolean };
            const { fresh, remember } = gate.sift(events(ORG, ...log.slice(place, place + size)));
            if (fails) continue;
            remember();
            read.push(...fresh.map(({ seq }) => seq));
            place += size;
          }
          expect(read).toEqual(Array.from({ length }, (_, index) => index + 1));
        },
      ),
    );
  });
});
