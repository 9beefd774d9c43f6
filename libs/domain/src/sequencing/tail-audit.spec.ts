import { describe, expect, it } from '@jest/globals';
import type { OrgId, Seq } from '../kernel/index.js';
import { TailAudit } from './tail-audit.js';

const [ORG, OTHER] = ['6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001', '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a002'] as OrgId[];

/** Records from the offset on, one for each seq. */
function records(offset: number, seqs: readonly number[], orgId = ORG!) {
  return seqs.map((seq, index) => ({ offset: offset + index, orgId, seq: seq as Seq }));
}

describe('the audit of the tail', () => {
  it('finds nothing in what follows, wherever it begins', () => {
    const audit = new TailAudit();
    expect(audit.add(0, records(70, [7, 8])).gaps).toEqual([]);
    expect(audit.add(0, [...records(72, [1], OTHER), ...records(73, [9])]).gaps).toEqual([]);
    expect(audit.figures).toEqual({ checked: 4, gaps: 0, repeats: 0 });
  });

  it('finds gaps and repeats, inside a batch and between batches', () => {
    const audit = new TailAudit();
    expect(audit.add(0, records(0, [1, 2, 4, 3])).gaps).toEqual([{ orgId: ORG, expected: 3, seq: 4 }]);
    expect(audit.add(0, records(4, [6])).gaps).toEqual([{ orgId: ORG, expected: 5, seq: 6 }]);
    expect(audit.figures).toEqual({ checked: 5, gaps: 2, repeats: 1 });
  });

  it('looks at a batch that comes again once', () => {
    const audit = new TailAudit();
    audit.add(0, records(0, [1, 2, 3]));
    audit.add(0, records(1, [2, 3, 4]));
    expect(audit.figures).toEqual({ checked: 4, gaps: 0, repeats: 0 });
  });

  it('begins anew behind what somebody else has had of the partition', () => {
    const audit = new TailAudit();
    audit.add(0, records(0, [1, 2]));
    audit.add(0, records(50, [30, 31]));
    expect(audit.figures).toEqual({ checked: 4, gaps: 0, repeats: 0 });
  });

  it('tells the last record that is certainly no repeat', () => {
    const audit = new TailAudit();
    expect(audit.add(0, records(0, [5])).latest).toBeUndefined();
    expect(audit.add(0, records(1, [6, 7, 6])).latest).toMatchObject({ seq: 7 });
    expect(audit.add(0, records(4, [7])).latest).toBeUndefined();
  });

  it('keeps partitions apart', () => {
    const audit = new TailAudit();
    audit.add(0, records(0, [1]));
    audit.add(1, records(0, [1]));
    expect(audit.figures).toEqual({ checked: 2, gaps: 0, repeats: 0 });
  });
});
