import { describe, expect, it } from '@jest/globals';
import { anOrgId } from '../../../../../test/support/ids.js';
import { TenantShares } from './tenant-shares.js';

const CONNECTIONS = 12;
const FOREVER_MS = 60_000;

/** Begins work that lasts until its `end` is called. */
function begin(shares: TenantShares, orgId = anOrgId()) {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let isRunning = false;
  const done = shares.of(orgId, async () => {
    isRunning = true;
    await ended;
  });
  return { end, done, isRunning: () => isRunning };
}

/** Lets what can begin do so. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

const running = (works: readonly ReturnType<typeof begin>[]) => works.filter((work) => work.isRunning()).length;

describe('the shares of organizations', () => {
  it('are half of what the others leave, at least one of what is left', async () => {
    const shares = new TenantShares(CONNECTIONS, FOREVER_MS);
    const counts: number[] = [];
    const all: ReturnType<typeof begin>[] = [];
    for (let org = 0; org < 5; org++) {
      const orgId = anOrgId();
      const works = Array.from({ length: 20 }, () => begin(shares, orgId));
      await settled();
      counts.push(running(works));
      all.push(...works);
    }
    expect(counts).toEqual([6, 3, 2, 1, 0]);
    for (const { end } of all) end();
    await Promise.all(all.map(({ done }) => done));
    expect(running(all)).toBe(all.length);
  });

  it('go to those that wait, in the order in which they came', async () => {
    const shares = new TenantShares(2, FOREVER_MS);
    const orgId = anOrgId();
    const works = [begin(shares, orgId), begin(shares, orgId), begin(shares, orgId)];
    await settled();
    expect(works.map((work) => work.isRunning())).toEqual([true, false, false]);
    expect(shares.waiting).toBe(2);
    works[0]?.end();
    await settled();
    expect(works.map((work) => work.isRunning())).toEqual([true, true, false]);
    for (const { end } of works) end();
    await Promise.all(works.map(({ done }) => done));
  });

  it('are free again after a failure', async () => {
    const shares = new TenantShares(1, FOREVER_MS);
    const orgId = anOrgId();
    await expect(shares.of(orgId, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await shares.of(orgId, () => Promise.resolve('yes'))).toBe('yes');
  });
});

it('a request that waits too long for others of its organization is refused, and takes no place', async () => {
  const shares = new TenantShares(1, 1);
  const orgId = anOrgId();
  const first = begin(shares, orgId);
  await expect(begin(shares, orgId).done).rejects.toMatchObject({ code: 'unavailable' });
  first.end();
  await first.done;
  expect(await shares.of(orgId, () => Promise.resolve('served'))).toBe('served');
});
