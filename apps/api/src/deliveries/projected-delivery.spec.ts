import { expect, it } from '@jest/globals';
import type { DeliveryId, EndpointId, OrgId } from '#libs/domain';
import type { DeliveryLog, DeliveryRecord } from '#libs/postgres';
import { ProjectedDelivery } from './projected-delivery.js';

const [ORG, ENDPOINT, DELIVERY] = ['org' as OrgId, 'whe_1' as EndpointId, 'whd_1' as DeliveryId];

/** Waits for run 1 of a delivery that the projection shows with the given look. */
async function wait(shownAt: number) {
  let looks = 0;
  const find = () => Promise.resolve({ run: ++looks >= shownAt ? 1 : 0 } as DeliveryRecord);
  const found = await new ProjectedDelivery({ find } as unknown as DeliveryLog).of(ORG, ENDPOINT, DELIVERY, 1);
  return { found, looks };
}

it('an operation gets its delivery with the look that shows it', async () => {
  expect(await wait(3)).toEqual({ found: { run: 1 }, looks: 3 });
});

it('an operation looks ever less often while the projection is behind, and gives up', async () => {
  const { found, looks } = await wait(Infinity);
  expect(found).toBeUndefined();
  expect(looks).toBeLessThanOrEqual(30);
});
