import { describe, expect, it } from '@jest/globals';
import { parseOrgId, type OrgId, type Seq } from '../kernel/index.js';
import { OrgSequences } from './org-sequences.js';

const [ORG, OTHER] = [1, 2].map((n) => parseOrgId(`${n}0000000-0000-4000-8000-000000000000`)!) as [OrgId, OrgId];

describe('the last seqs of orgs', () => {
  it('go on after what was restored, and an older snapshot does not set them back', () => {
    const sequences = new OrgSequences();
    sequences.restore(ORG, 5 as Seq);
    sequences.restore(ORG, 3 as Seq);
    expect(sequences.next(ORG)).toBe(6);
    expect(sequences.next(OTHER)).toBe(1);
  });

  it('are handed over again if an older snapshot came last, which compaction would keep', () => {
    const sequences = new OrgSequences();
    for (const seq of [3, 5]) sequences.restore(OTHER, seq as Seq);
    expect(sequences.hasChanged).toBe(false);
    for (const seq of [5, 3]) sequences.restore(ORG, seq as Seq);
    expect(sequences.hasChanged).toBe(true);
    expect(sequences.takeChanged()).toEqual(new Map([[ORG, 5]]));
    expect(sequences.hasChanged).toBe(false);
  });

  it('are not handed over if the newest snapshot came after an older one, which compaction removes', () => {
    const sequences = new OrgSequences();
    for (const seq of [5, 3, 5]) sequences.restore(ORG, seq as Seq);
    for (const seq of [5, 3, 6]) sequences.restore(OTHER, seq as Seq);
    expect(sequences.hasChanged).toBe(false);
    expect([ORG, OTHER].map((org) => sequences.lastSeqOf(org))).toEqual([5, 6]);
  });

  it('take over the log, and ignore a record that is not above the last seen', () => {
    const sequences = new OrgSequences();
    expect([1, 2, 2, 1, 3].map((seq) => sequences.replay(ORG, seq as Seq))).toEqual([true, true, false, false, true]);
    expect(sequences.next(ORG)).toBe(4);
  });

  it('are handed over once for each org that changed', () => {
    const sequences = new OrgSequences();
    sequences.next(ORG);
    sequences.next(OTHER);
    sequences.next(ORG);
    expect(sequences.takeChanged()).toEqual(
      new Map([
        [ORG, 2],
        [OTHER, 1],
      ]),
    );
    expect(sequences.takeChanged().size).toBe(0);
    sequences.replay(ORG, 3 as Seq);
    expect(sequences.takeChanged()).toEqual(new Map([[ORG, 3]]));
    sequences.next(OTHER);
    expect([...sequences.takeChanged().keys()]).toEqual([OTHER]);
    sequences.markAllChanged();
    expect([...sequences.takeChanged().keys()]).toEqual([ORG, OTHER]);
  });
});
