import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { DeliveryRef } from '#libs/domain';
import { aDueAttempt } from '../../../../test/support/due-attempts.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { PendingFacts } from './pending-facts.js';

describe('a delivery', () => {
  const written: DeliveryRef[] = [];
  const pending = new PendingFacts((deliveries) => {
    written.push(...deliveries);
    return Promise.resolve();
  });

  it('is shown as pending only if its first attempt takes long, and once', async () => {
    const [quick, slow] = [aDueAttempt(1), aDueAttempt(2)];
    pending.begin(quick);
    pending.begin(slow);
    // The lane may have copied it.
    expect(pending.end({ ...quick })).toBe(true);
    await eventually(() => {
      expect(written).toEqual([slow.delivery]);
    });
    expect(pending.end({ ...slow })).toBe(false);
    await delay(200);
    expect(written).toEqual([slow.delivery]);
    pending.stop();
  });
});
