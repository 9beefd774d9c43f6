import { describe, expect, it } from '@jest/globals';
import { localInput, parseReach, type ReachDraft } from './recovery-range.js';

const NOON = '2026-03-04T12:00:00.000Z';
const DRAFT: ReachDraft = { kind: 'time', since: '2026-03-04T12:00', until: '', seq: '' };
const wrongField = (draft: Partial<ReachDraft>) => {
  const parsed = parseReach({ ...DRAFT, ...draft });
  return parsed.kind === 'wrong' ? parsed.field : undefined;
};

describe('the reach of a recovery', () => {
  it('begins at the oldest event', () => {
    expect(parseReach({ ...DRAFT, kind: 'everything' })).toEqual({ kind: 'ok', range: { since_seq: 0 } });
  });

  it('includes the seq that it begins with', () => {
    expect(parseReach({ ...DRAFT, kind: 'seq', seq: '#42' })).toEqual({ kind: 'ok', range: { since_seq: 41 } });
    expect(wrongField({ kind: 'seq', seq: '0' })).toBe('seq');
    expect(wrongField({ kind: 'seq', seq: 'x' })).toBe('seq');
  });

  it('reads local times, with and without an end', () => {
    const since = new Date('2026-03-04T12:00').toISOString();
    expect(parseReach(DRAFT)).toEqual({ kind: 'ok', range: { since } });
    const until = new Date('2026-03-04T13:30').toISOString();
    expect(parseReach({ ...DRAFT, until: '2026-03-04T13:30' })).toEqual({ kind: 'ok', range: { since, until } });
    expect(Date.parse(localInput(Date.parse(NOON)))).toBe(Date.parse(NOON));
  });

  it('says which field is wrong', () => {
    expect(wrongField({ since: '' })).toBe('since');
    expect(wrongField({ until: '2026-03-04T12:00' })).toBe('until');
    expect(wrongField({ until: 'soon' })).toBe('until');
  });
});
