import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { derivedRecoveryId, type Seq } from '#libs/domain';
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
