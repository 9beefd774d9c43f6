import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { DueAttempt } from '#libs/domain';
import { aDueAttempt } from '../../../../test/support/due-attempts.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { PendingFacts } from './pending-facts.js';

describe('a delivery', () => {
  const written: DueAttempt[] = [];
  const pending = new PendingFacts((dues) => {
    written.push(...dues);
    return Promise.resolve();
  });

  it('is shown as pending only if its first attempt takes long, and once', async () => {
    const [quick, slow] = [aDueAttempt(1), aDueAttempt(2)];
    pending.begin(quick);
    pending.begin(slow);
    expect(pending.end(quick)).toBe(true);
    await eventually(() => {
      expect(written).toEqual([slow]);
    });
    expect(pending.end(slow)).toBe(false);
    await delay(200);
    expect(written).toEqual([slow]);
    pending.stop();
  });
});
