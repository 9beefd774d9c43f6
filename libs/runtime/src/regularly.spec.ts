import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { Regularly, type RegularlyOptions } from './regularly.js';

let regularly: Regularly;

afterEach(() => regularly.stop());

function started(options: Partial<RegularlyOptions>): Regularly {
  regularly = new Regularly({
    everyMs: 1,
    act: () => Promise.resolve(undefined),
    onFailure: () => undefined,
    ...options,
  });
  regularly.start();
  return regularly;
}

describe('Regularly', () => {
  it('does the work again and again, and never twice at the same time', async () => {
    let [times, atOnce, most] = [0, 0, 0];
    started({
      act: async () => {
        most = Math.max(most, ++atOnce);
        await new Promise((resolve) => setImmediate(resolve));
        atOnce--;
        times++;
        return undefined;
      },
    });
    regularly.start();
    await eventually(() => {
      expect(times).toBeGreaterThan(5);
    });
    expect(most).toBe(1);
  });

  it('goes on after failures, says how many there were in a row, and begins to count again after a success', async () => {
    const failed: number[] = [];
    const outcomes = ['fails', 'throws', 'works', 'fails'];
    let done = false;
    started({
      act: () => {
        const outcome = outcomes.shift();
        done = outcome === undefined;
        if (outcome === 'throws') throw new Error('at once');
        return outcome === 'fails' ? Promise.reject(new Error('later')) : Promise.resolve(undefined);
      },
      onFailure: (_error, failures, waitMs) => {
        failed.push(failures);
        expect(waitMs).toBeLessThanOrEqual(1);
      },
    });
    await eventually(() => {
      expect(done).toBe(true);
    });
    expect(failed).toEqual([1, 2, 1]);
  });

  it('is done again after as long as the work says', async () => {
    let times = 0;
    started({ everyMs: 3_600_000, firstAfterMs: 0, act: () => Promise.resolve(++times < 3 ? 0 : undefined) });
    await eventually(() => {
      expect(times).toBe(3);
    });
  });

  it('interrupts the work when it is stopped, waits for its end, and reports no failure', async () => {
    let [isAtWork, hasEnded] = [false, false];
    started({
      act: async (signal) => {
        isAtWork = true;
        await new Promise((resolve) => {
          signal.addEventListener('abort', resolve);
        });
        await new Promise((resolve) => setImmediate(resolve));
        hasEnded = true;
        signal.throwIfAborted();
        return undefined;
      },
      onFailure: () => {
        throw new Error('must not be called');
      },
    });
    await eventually(() => {
      expect(isAtWork).toBe(true);
    });
    await regularly.stop();
    expect(hasEnded).toBe(true);
  });

  it('ends at once while it rests, and before it was started', async () => {
    started({ everyMs: 3_600_000 });
    await regularly.stop();
    regularly = new Regularly({ everyMs: 1, act: () => Promise.resolve(undefined), onFailure: () => undefined });
    await regularly.stop();
  });
});
