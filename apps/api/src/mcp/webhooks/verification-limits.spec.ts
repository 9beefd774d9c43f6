import { describe, expect, it } from '@jest/globals';
import type { OrgId } from '#libs/domain';
import { PER_HOST, PER_ORG, PER_ORG_AND_HOST, VerificationLimits, WINDOW_MS } from './verification-limits.js';

const org = (nth: number) => `0f9b3c52-6a1e-4d27-9a45-${String(nth).padStart(12, '0')}` as OrgId;
const CALLBACK = 'https://agent.example.com/in';
const OTHER = 'https://other.example.com/in';

function begun(limits: VerificationLimits, orgId: OrgId, times: number, nowMs: number, url = CALLBACK): number {
  let count = 0;
  for (let i = 0; i < times; i++) {
    const end = limits.begin(orgId, url, nowMs);
    if (typeof end !== 'function') continue;
    end();
    count++;
  }
  return count;
}

describe('the limits of verifications', () => {
  it('keep one organization from flooding a host, and from taking it from others', () => {
    const limits = new VerificationLimits();
    expect(begun(limits, org(1), 500, 0)).toBe(PER_ORG_AND_HOST);
    for (const same of [CALLBACK, 'https://AGENT.example.com:8443/other', 'https://agent.example.com./in']) {
      expect(limits.begin(org(1), same, 1)).toEqual({ max: PER_ORG_AND_HOST });
    }
    expect(begun(limits, org(2), 1, 1)).toBe(1);
    expect(begun(limits, org(1), 1, 1, OTHER)).toBe(1);
    expect(begun(limits, org(1), 1, WINDOW_MS)).toBe(1);
  });

  it('keep one organization from flooding a host that has many names', () => {
    const limits = new VerificationLimits();
    const counts = Array.from({ length: 500 }, (_, nth) =>
      begun(limits, org(1), 1, 0, `https://r${nth}.agent.example.com/`),
    );
    expect(counts.filter((count) => count === 1)).toHaveLength(PER_ORG);
    expect(limits.begin(org(1), OTHER, 1)).toEqual({ max: PER_ORG });
    expect(begun(limits, org(2), 1, 1)).toBe(1);
    expect(begun(limits, org(1), 1, WINDOW_MS, OTHER)).toBe(1);
  });

  it('bound what all organizations together send to a host', () => {
    const limits = new VerificationLimits();
    const counts = Array.from({ length: 30 }, (_, nth) => begun(limits, org(nth), 20, 0));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(PER_HOST);
    expect(limits.begin(org(99), CALLBACK, 0)).toEqual({ max: PER_HOST });
    expect(begun(limits, org(99), 1, 0, OTHER)).toBe(1);
  });

  it('leave room for others while hosts of one organization hang', () => {
    const limits = new VerificationLimits();
    const ends = Array.from({ length: 60 }, (_, nth) => limits.begin(org(1), `https://host-${nth}.example.com/`, 0));
    expect(ends.filter((end) => typeof end === 'function')).toHaveLength(20);
    expect(begun(limits, org(2), 1, 0)).toBe(1);
    for (const end of ends) if (typeof end === 'function') end();
    expect(begun(limits, org(1), 1, 0)).toBe(1);
  });
});
