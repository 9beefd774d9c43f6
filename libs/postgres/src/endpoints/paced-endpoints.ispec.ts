import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DeliverySettings, EndpointId } from '#libs/domain';
import { anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { aCipher, aTestStore } from '../testing/a-test-store.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { EndpointRecords, type EndpointChanges } from './endpoint-records.js';
import { PacedEndpoints } from './paced-endpoints.js';

const AT = new Date('2026-03-01T12:00:00Z');
const orgId = anOrgId();

let store: Store;
let drop: () => Promise<void>;
let records: EndpointRecords;
let paced: PacedEndpoints;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  records = new EndpointRecords(store, aCipher());
  paced = new PacedEndpoints(store);
});

afterAll(() => drop());

async function change(id: EndpointId, changes: EndpointChanges): Promise<void> {
  await records.update(orgId, id, changes, AT, () => Promise.resolve());
}

async function anEndpointWith(settings: Partial<DeliverySettings>): Promise<EndpointId> {
  const id = await anEndpoint(store, orgId, 0, records);
  await change(id, { settings });
  return id;
}

async function listed(id: EndpointId) {
  return (await paced.list()).find((endpoint) => endpoint.id === id);
}

describe('an endpoint that limits or orders its attempts', () => {
  it.each([{ maxPerSecond: 2 }, { maxInFlight: 1 }, { ordering: { by: 'endpoint', batch: 1 } }] as const)(
    'is listed with %j, also while it is inactive',
    async (settings) => {
      const id = await anEndpointWith(settings);
      const active = await listed(id);
      expect(active).toMatchObject({ orgId, ...settings });
      await change(id, { isActive: { becomes: false, logEnd: 0 } });
      expect(await listed(id)).toEqual(active);
      await change(id, { isActive: { becomes: true, logEnd: 0 } });
      expect(await listed(id)).toEqual(active);
    },
  );

  it('is listed no more without limits and order', async () => {
    const id = await anEndpointWith({ maxPerSecond: 2 });
    await change(id, { settings: { maxPerSecond: null } });
    expect(await listed(id)).toBeUndefined();
  });
});
