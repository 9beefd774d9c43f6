import { describe, expect, it } from '@jest/globals';
import type { EventId, OrgId, Seq } from '../kernel/index.js';
import { LogAudit, type LogAuditOptions } from './log-audit.js';

const [ORG, OTHER] = ['6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001', '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a002'] as OrgId[];

/** The findings on a log of `[org, seq, id]`; the id is the seq's own, if left out. */
function audited(log: readonly (readonly [OrgId, number, string?])[], options: Partial<LogAuditOptions> = {}) {
  const audit = new LogAudit({ isWhole: true, from: 0 as Seq, ...options });
  const findings = log.map(([orgId, seq, id = `evt_${seq}`]) =>
    audit.add({ orgId, seq: seq as Seq, id: id as EventId }),
  );
  return { kinds: findings.map(({ kind }) => kind), findings, orgs: audit.orgs };
}

describe('the audit of a log', () => {
  it('finds nothing where each org counts 1, 2, 3 …', () => {
    const { kinds, orgs } = audited([
      [ORG!, 1],
      [OTHER!, 1],
      [ORG!, 2],
      [ORG!, 3],
      [OTHER!, 2],
    ]);
    expect(new Set(kinds)).toEqual(new Set(['next']));
    const clean = { firstSeq: 1, gaps: 0, missing: 0, repeats: 0, repeatedIds: 0 };
    expect(orgs).toEqual([
      { ...clean, orgId: ORG, lastSeq: 3 },
      { ...clean, orgId: OTHER, lastSeq: 2 },
    ]);
  });

  it('finds each gap once, and counts what is missing', () => {
    const { findings, orgs } = audited([
      [ORG!, 1],
      [ORG!, 4],
      [ORG!, 5],
      [ORG!, 7],
    ]);
    expect(findings[1]).toEqual({ kind: 'gap', expected: 2 });
    expect(findings[2]).toEqual({ kind: 'next' });
    expect(findings[3]).toEqual({ kind: 'gap', expected: 6 });
    expect(orgs[0]).toMatchObject({ gaps: 2, missing: 3, lastSeq: 7 });
  });

  it('takes what is not above the last seen for a repeat, the ids of which are no repeated ids', () => {
    const { kinds, orgs } = audited([
      [ORG!, 1],
      [ORG!, 2],
      [ORG!, 1],
      [ORG!, 2],
      [ORG!, 3],
    ]);
    expect(kinds).toEqual(['next', 'next', 'repeat', 'repeat', 'next']);
    expect(orgs[0]).toMatchObject({ repeats: 2, repeatedIds: 0, gaps: 0, lastSeq: 3 });
  });

  it('finds an id that was given twice in an org, and lets two orgs have the same', () => {
    const { kinds, orgs } = audited([
      [ORG!, 1, 'evt_a'],
      [OTHER!, 1, 'evt_a'],
      [ORG!, 2, 'evt_a'],
    ]);
    expect(kinds).toEqual(['next', 'next', 'repeated_id']);
    expect(orgs.map(({ repeatedIds }) => repeatedIds)).toEqual([1, 0]);
  });

  it('misses what should stand before the first record, unless retention may have removed it', () => {
    expect(audited([[ORG!, 5]]).findings).toEqual([{ kind: 'gap', expected: 1 }]);
    expect(audited([[ORG!, 5]], { isWhole: false })).toMatchObject({
      findings: [{ kind: 'next' }],
      orgs: [{ firstSeq: 5, lastSeq: 5, gaps: 0 }],
    });
  });

  it('lets an org whose first record was put back begin at any seq', () => {
    const audit = new LogAudit({ isWhole: true, from: 0 as Seq });
    const add = (seq: number, isPutBack: boolean) =>
      audit.add({ orgId: ORG!, seq: seq as Seq, id: `evt_${seq}` as EventId }, isPutBack);
    expect(add(5, true)).toEqual({ kind: 'next' });
    expect(add(6, true)).toEqual({ kind: 'next' });
    expect(add(8, true)).toEqual({ kind: 'gap', expected: 7 });
    expect(add(10, false)).toEqual({ kind: 'gap', expected: 9 });
    expect(audit.orgs[0]).toMatchObject({ firstSeq: 5, lastSeq: 10, gaps: 2, missing: 2 });
  });

  it('lets all orgs begin at any seq in a log that begins with what was put back', () => {
    const audit = new LogAudit({ isWhole: true, from: 0 as Seq });
    const add = (orgId: OrgId, seq: number, isPutBack: boolean) =>
      audit.add({ orgId, seq: seq as Seq, id: `evt_${orgId}_${seq}` as EventId }, isPutBack);
    expect(add(ORG!, 5, true)).toEqual({ kind: 'next' });
    expect(add(OTHER!, 51, false)).toEqual({ kind: 'next' });
    expect(add(OTHER!, 53, false)).toEqual({ kind: 'gap', expected: 52 });
  });

  it('begins again after records that retention removed, and knows what came before them', () => {
    const audit = new LogAudit({ isWhole: true, from: 0 as Seq });
    const add = (orgId: OrgId, seq: number, id = `evt_${seq}`) =>
      audit.add({ orgId, seq: seq as Seq, id: id as EventId });
    for (const seq of [1, 2, 4]) add(ORG!, seq);
    audit.beginAgain();
    expect(add(ORG!, 4)).toEqual({ kind: 'repeat' });
    expect(add(ORG!, 7)).toEqual({ kind: 'next' });
    expect(add(OTHER!, 5)).toEqual({ kind: 'next' });
    expect(add(ORG!, 9)).toEqual({ kind: 'gap', expected: 8 });
    expect(add(OTHER!, 7)).toEqual({ kind: 'gap', expected: 6 });
    expect(add(ORG!, 10, 'evt_1')).toEqual({ kind: 'repeated_id' });
    expect(audit.orgs[0]).toMatchObject({ firstSeq: 7, lastSeq: 10, gaps: 2, missing: 1, repeats: 1 });
  });

  it('begins at the given seq, and knows what came before it', () => {
    const { kinds, orgs } = audited(
      [
        [ORG!, 1, 'evt_a'],
        [ORG!, 2],
        [ORG!, 3, 'evt_a'],
        [ORG!, 5],
      ],
      { from: 3 as Seq },
    );
    expect(kinds).toEqual(['before', 'before', 'repeated_id', 'gap']);
    expect(orgs[0]).toMatchObject({ firstSeq: 3, lastSeq: 5, gaps: 1, missing: 1, repeatedIds: 1 });
  });
});
