import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { OrgId, Seq } from '#libs/domain';
import { CREDENTIALS_FORGOTTEN_MS, HeadNotifications, type HeadNotificationsOptions, type Store } from '#libs/postgres';
import type { Config, Logger } from '#libs/runtime';
import { FeedHeads } from './feed-heads.js';

const ORG = 'org' as OrgId;

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

/** Heads without a database, what they are notified of, and how often a reader was asked to check its credentials. */
function someHeads() {
  const starts = jest.spyOn(HeadNotifications.prototype, 'start').mockImplementation(() => undefined);
  const store = { feed: { onChange: () => undefined, others: [] } } as unknown as Store;
  const heads = new FeedHeads({ databaseUrl: '' } as Config, {} as Logger, store);
  heads.onApplicationBootstrap();
  const [main] = starts.mock.contexts as unknown as readonly { readonly options: HeadNotificationsOptions }[];
  const checks = jest.spyOn(heads.watch(ORG, 0 as Seq), 'check');
  return { options: main!.options, checks };
}

it.each([ORG, null])('readers check their credentials once more after what ended before a check: %s', (orgId) => {
  const { options, checks } = someHeads();
  for (let n = 0; n < 2; n++) options.onEndedCredentials(orgId);
  jest.advanceTimersByTime(CREDENTIALS_FORGOTTEN_MS - 20);
  expect(checks).toHaveBeenCalledTimes(0);
  options.onEndedCredentials(orgId);
  jest.advanceTimersByTime(20);
  expect(checks).toHaveBeenCalledTimes(1);
  jest.advanceTimersByTime(CREDENTIALS_FORGOTTEN_MS);
  expect(checks).toHaveBeenCalledTimes(2);
  jest.advanceTimersByTime(10 * CREDENTIALS_FORGOTTEN_MS);
  expect(checks).toHaveBeenCalledTimes(2);
});

it('readers check their credentials once after one notification', () => {
  const { options, checks } = someHeads();
  options.onEndedCredentials(ORG);
  jest.advanceTimersByTime(10 * CREDENTIALS_FORGOTTEN_MS);
  expect(checks).toHaveBeenCalledTimes(1);
});
