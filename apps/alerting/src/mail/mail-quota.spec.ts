import { expect, it } from '@jest/globals';
import { anOrgId } from '../../../../test/support/ids.js';
import { MailQuota } from './mail-quota.js';

const HOUR_MS = 3_600_000;

it('counts the mails of each organization in its hour', () => {
  let nowMs = 0;
  const quota = new MailQuota(2, { now: () => nowMs });
  const [one, other] = [anOrgId(), anOrgId()];
  expect([1, 2, 3, 4].map(() => quota.countOver(one))).toEqual([0, 0, 1, 2]);
  nowMs = HOUR_MS - 1;
  expect([quota.countOver(one), quota.countOver(other)]).toEqual([3, 0]);
  nowMs = HOUR_MS;
  expect(quota.countOver(one)).toBe(0);
});

it('ends the hours of all organizations after a clock was ahead for a moment', () => {
  let nowMs = 24 * HOUR_MS;
  const quota = new MailQuota(1, { now: () => nowMs });
  const [ahead, other] = [anOrgId(), anOrgId()];
  quota.countOver(ahead);
  nowMs = 0;
  expect([quota.countOver(other), quota.countOver(ahead)]).toEqual([0, 0]);
  nowMs = HOUR_MS + 1;
  expect([quota.countOver(other), quota.countOver(ahead)]).toEqual([0, 0]);
});
