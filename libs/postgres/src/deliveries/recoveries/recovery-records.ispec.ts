import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { derivedRecoveryId, type OrgId, type Seq } from '#libs/domain';
import { anOrgId } from '../../../../../test/support/ids.js';
import type { Store } from '../../connection/store.js';
import { aTestStore } from '../../testing/a-test-store.js';
import { anEndpoint } from '../../testing/an-endpoint.js';
import { NOT_BEGUN, RecoveryRecords } from './recovery-records.js';

let store: Store;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
});

afterAll(() => drop());

/** Begins the same recovery, as each attempt at a request does. */
async function aRequest() {
  const orgId = anOrgId();
  const range = { sinceSeq: 0 as Seq, since: null, until: null, throughSeq: null };
  const order = { orgId, endpointId: await anEndpoint(store, orgId), kinds: ['failed'], range } as const;
  const id = derivedRecoveryId(randomUUID());
  const records = new RecoveryRecords(store);
  const worker = randomUUID();
  const begin = () => records.begin(id, order, worker, { at: new Date(), limit: 1 });
  const fails = async (error: string) => {
    await records.end((await records.find(orgId, id))!, worker, { status: 'failed', error, at: new Date() });
  };
  return { begin, fails, found: () => records.find(orgId, id) };
}

describe('a recovery with an id that was used before', () => {
  it('begins again if the first attempt scheduled nothing because the log was away', async () => {
    const { begin, fails, found } = await aRequest();
    const first = await begin();
    await fails(NOT_BEGUN);
    expect(await begin()).toEqual({ ...first, createdAt: expect.any(Date) as unknown });
    expect(await found()).toMatchObject({ status: 'running', error: null, endedAt: null });
  });

  it('does not begin while it runs, and not after it has failed otherwise', async () => {
    const { begin, fails, found } = await aRequest();
    await begin();
    expect(await begin()).toBeUndefined();
    await fails('endpoint_inactive');
    expect(await begin()).toBeUndefined();
    expect(await found()).toMatchObject({ status: 'failed', error: 'endpoint_inactive' });
  });
});

/** The recoveries of an org that wait for a turn: the first for so many minutes, each other one for a second less. */
async function waitingFor(minutes: number, count: number) {
  const orgId = anOrgId();
  const range = { sinceSeq: 0 as Seq, since: null, until: null, throughSeq: null };
  const order = { orgId, endpointId: await anEndpoint(store, orgId), kinds: ['failed'], range } as const;
  const records = new RecoveryRecords(store);
  const ids = [];
  for (let n = 0; n < count; n++) {
    const id = derivedRecoveryId(randomUUID());
    await records.begin(id, order, randomUUID(), { at: new Date(), limit: count });
    const since = `now() - $2 * interval '1 minute' + $3 * interval '1 second'`;
    await store.query(`update recoveries set leased_until = ${since} where id = $1`, [id, minutes, n]);
    ids.push(id);
  }
  return { orgId, ids };
}

it('organizations take turns, however many of their recoveries wait, and for however long', async () => {
  const [a, b, c] = [await waitingFor(30, 3), await waitingFor(20, 1), await waitingFor(10, 1)];
  const records = new RecoveryRecords(store);
  const claimed = async (...served: readonly { readonly orgId: OrgId }[]) => {
    const worker = randomUUID();
    const recovery = await records.claim(
      worker,
      served.map(({ orgId }) => orgId),
    );
    return { id: recovery?.id, release: () => records.release(recovery!, worker, 0) };
  };
  expect((await claimed()).id).toBe(a.ids[0]);
  const ofB = await claimed(a);
  expect(ofB.id).toBe(b.ids[0]);
  await ofB.release();
  expect((await claimed(a, b)).id).toBe(c.ids[0]);
  expect((await claimed(a, b, c)).id).toBe(a.ids[1]);
  expect((await claimed(b, c, a)).id).toBe(b.ids[0]);
  expect((await claimed(c, a, b)).id).toBe(a.ids[2]);
  expect((await claimed(c, b, a)).id).toBeUndefined();
});

it('those that ended before a time are deleted, so many at a time', async () => {
  const records = new RecoveryRecords(store);
  const requests = [];
  for (let n = 0; n < 3; n++) {
    const request = await aRequest();
    await request.begin();
    await request.fails('endpoint_inactive');
    requests.push(request);
  }
  expect(await records.prune(new Date(0), 10)).toBe(0);
  const before = new Date(Date.now() + 60_000);
  let pruned = await records.prune(before, 2);
  expect(pruned).toBe(2);
  while (pruned === 2) pruned = await records.prune(before, 2);
  expect(await Promise.all(requests.map(({ found }) => found()))).toEqual([undefined, undefined, undefined]);
});
