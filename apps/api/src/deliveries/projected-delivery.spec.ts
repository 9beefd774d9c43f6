import { expect, it } from '@jest/globals';
import type { DeliveryId, EndpointId, OrgId } from '#libs/domain';
import type { DeliveryLog, DeliveryRecord } from '#libs/postgres';
import { ProjectedDelivery } from './projected-delivery.js';

const [ORG, ENDPOINT, DELIVERY] = ['org' as OrgId, 'whe_1' as EndpointId, 'whd_1' as DeliveryId];

const shown = (run: number) => Promise.resolve({ run } as DeliveryRecord);
const fails = () => Promise.reject(new Error('Postgres is away.'));

/** Waits for run 1 of a delivery. @param look what a look finds, by its number from 1 on */
async function wait(look: (nth: number) => Promise<DeliveryRecord>) {
  let looks = 0;
  const find = () => look(++looks);
  const beganMs = performance.now();
  const found = await new ProjectedDelivery({ find } as unknown as DeliveryLog).of(ORG, ENDPOINT, DELIVERY, 1);
  return { found, looks, tookMs: performance.now() - beganMs };
}

it('an operation gets its delivery with the look that shows it', async () => {
  expect(await wait((nth) => shown(nth < 3 ? 0 : 1))).toMatchObject({ found: { run: 1 }, looks: 3 });
});

it('an operation gets its delivery after looks that failed', async () => {
  expect(await wait((nth) => (nth < 3 ? fails() : shown(1)))).toMatchObject({ found: { run: 1 }, looks: 3 });
});

it('an operation looks ever less often while the projection is behind or looks fail, and gives up after 5 s', async () => {
  const never = () => new Promise<never>(() => undefined);
  for (const { found, looks, tookMs } of await Promise.all([wait(() => shown(0)), wait(fails), wait(never)])) {
    expect(found).toBeUndefined();
    expect(looks).toBeLessThanOrEqual(30);
    expect(Math.round(tookMs / 1_000)).toBeGreaterThanOrEqual(5);
  }
});
