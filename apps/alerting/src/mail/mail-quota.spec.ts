import { afterEach, expect, it, jest } from '@jest/globals';
import { anOrgId } from '../../../../test/support/ids.js';
import { MailQuota } from './mail-quota.js';

const HOUR_MS = 3_600_000;

afterEach(() => {
  jest.restoreAllMocks();
});

it('counts the mails of each organization in its hour', () => {
  let nowMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const quota = new MailQuota(2);
  const [one, other] = [anOrgId(), anOrgId()];
  expect([1, 2, 3, 4].map(() => quota.countOver(one))).toEqual([0, 0, 1, 2]);
  nowMs = HOUR_MS - 1;
  expect([quota.countOver(one), quota.countOver(other)]).toEqual([3, 0]);
  nowMs = HOUR_MS;
  expect(quota.countOver(one)).toBe(0);
});
