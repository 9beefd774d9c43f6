import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aDelivery, attempted } from '../testing/facts.js';
import type { Attempted } from './facts/delivery-fact.js';
import { foldDisabled, foldHealth, HEALTH_UNKNOWN, type EndpointHealth } from './endpoint-health.js';

const LIMIT = 20;

interface Folded {
  readonly health: EndpointHealth;
  /** Which of the attempts made the endpoint inactive. */
  readonly disabledBy: readonly number[];
}

function fold(facts: readonly Attempted[], limit = LIMIT): Folded {
  let health = HEALTH_UNKNOWN;
  const disabledBy: number[] = [];
  for (const [index, fact] of facts.entries()) {
    const folded = foldHealth(health, fact, limit);
    health = folded.health;
    if (folded.disables) disabledBy.push(index);
  }
  return { health, disabledBy };
}

function failure(nth: number, activation = 1): Attempted {
  return attempted(0, 1, 'retry', { delivery: aDelivery(nth), activation });
}

function success(nth: number, activation = 1): Attempted {
  return attempted(0, 1, 'delivered', { delivery: aDelivery(nth), activation });
}

function failures(count: number, activation = 1): readonly Attempted[] {
  return Array.from({ length: count }, (_, index) => failure(index + 1, activation));
}

describe('foldHealth', () => {
  it('shows the latest times, in whichever order attempts of several dispatchers come', () => {
    const [early, late] = [success(1), { ...success(2), startedAtMs: success(2).startedAtMs + 5_000 }];
    expect(fold([late, early]).health).toEqual(fold([early, late]).health);
    const [missed, failedLate] = [failure(1), { ...failure(1), startedAtMs: failure(1).startedAtMs + 5_000 }];
    expect(fold([failedLate, missed]).health).toEqual(fold([missed, failedLate]).health);
  });

  it('counts failures in a row over deliveries, retries and last attempts alike', () => {
    expect(fold([failure(1), failure(2), attempted(0, 9, 'exhausted')]).health.failureCount).toBe(3);
  });

  it('is 0 again after a success of any delivery', () => {
    expect(fold([...failures(19), success(1)]).health.failureCount).toBe(0);
    expect(fold([...failures(19), success(1), failure(2)]).health.failureCount).toBe(1);
  });

  it('disables with the 20th failure in a row, and not with the 19th', () => {
    expect(fold(failures(19)).disabledBy).toEqual([]);
    expect(fold(failures(20))).toMatchObject({ disabledBy: [19], health: { failureCount: 20 } });
  });

  it('disables with an attempt that says so, however few fail', () => {
    expect(fold([{ ...failure(1), disables: true }]).disabledBy).toEqual([0]);
  });

  it('disables once: what was in flight counts no more', () => {
    expect(fold(failures(25))).toMatchObject({ disabledBy: [19], health: { failureCount: 20 } });
    expect(fold([...failures(20), success(1), ...failures(20)])).toMatchObject({
      disabledBy: [19],
      health: { failureCount: 20 },
    });
  });

  it('counts from 0 after the endpoint was enabled again, and can disable it again', () => {
    expect(fold([...failures(20), failure(1, 2)]).health).toMatchObject({ activation: 2, failureCount: 1 });
    expect(fold([...failures(20), ...failures(20, 2)]).disabledBy).toEqual([19, 39]);
  });

  it('counts no attempt from before the endpoint was enabled again', () => {
    const enabled = fold([...failures(19), failure(1, 2)]).health;
    for (const late of [failure(2, 1), success(2, 1)]) {
      expect(foldHealth(enabled, late, LIMIT)).toMatchObject({
        disables: false,
        health: { activation: 2, failureCount: 1 },
      });
    }
  });

  it('goes on above a limit that was lowered: a success sets it to 0, and the next failure disables', () => {
    const { health } = fold(failures(12));
    expect(foldHealth(health, success(13), 10)).toMatchObject({ disables: false, health: { failureCount: 0 } });
    const disabled = foldHealth(health, failure(13), 10);
    expect(disabled).toMatchObject({ disables: true, ends: true, health: { failureCount: 13 } });
    expect(foldHealth(disabled.health, failure(14), 10)).toMatchObject({
      disables: false,
      health: { failureCount: 13 },
    });
  });

  it('ends deliveries once in each activation, by its operator or by an attempt', () => {
    const gone = (nth: number, activation = 1) => ({ ...failure(nth, activation), disables: true }) as const;
    const byOperator = foldDisabled(fold(failures(19)).health, {
      type: 'endpoint_disabled',
      endpointId: aDelivery().endpointId,
      orgId: aDelivery().orgId,
      activation: 1,
      atMs: 0,
    });
    const byAttempt = foldHealth(HEALTH_UNKNOWN, gone(1), LIMIT);
    expect(byAttempt.ends).toBe(true);
    for (const before of [byOperator, byAttempt.health]) {
      for (const late of [failure(20), gone(20)]) expect(foldHealth(before, late, LIMIT).ends).toBe(false);
      expect(foldHealth(before, gone(20, 2), LIMIT).ends).toBe(true);
    }
    // The request of the operator may have failed after all.
    expect(foldHealth(byOperator, failure(20), LIMIT).disables).toBe(true);
  });

  it('shows the last trigger, success and failure, whatever counts', () => {
    const failed = failure(1);
    const succeeded = attempted(0, 2, 'delivered');
    expect(fold([failed, succeeded]).health).toEqual({
      activation: 1,
      endedActivation: 0,
      endedAtMs: null,
      failureCount: 0,
      lastTriggeredAtMs: succeeded.startedAtMs,
      lastSuccessAtMs: succeeded.startedAtMs + succeeded.durationMs,
      lastFailureAtMs: failed.startedAtMs + failed.durationMs,
      lastError: failed.error,
    });
  });

  it('has a last trigger that never goes back', () => {
    expect(fold([attempted(0, 2, 'retry'), attempted(0, 1, 'retry')]).health.lastTriggeredAtMs).toBe(
      attempted(0, 2, 'retry').startedAtMs,
    );
  });

  it('counts as a plain count does, until it disables', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 30 }), fc.integer({ min: 1, max: 6 }), (outcomes, limit) => {
        const facts = outcomes.map((failed, nth) => (failed ? failure(nth) : success(nth)));
        let count = 0;
        let disabledBy: number | undefined;
        for (const [index, failed] of outcomes.entries()) {
          if (disabledBy !== undefined) break;
          count = failed ? count + 1 : 0;
          if (count === limit) disabledBy = index;
        }
        const folded = fold(facts, limit);
        expect(folded.health.failureCount).toBe(count);
        expect(folded.disabledBy).toEqual(disabledBy === undefined ? [] : [disabledBy]);
      }),
    );
  });

  it.each([
    [4, [1]],
    [5, [2]],
    [2, [0]],
    [1, []],
  ])('fails once for each time that it reaches half of %d failures in a row', (limit, expected) => {
    const failing = (facts: readonly Attempted[]) => {
      let health = HEALTH_UNKNOWN;
      return facts.flatMap((fact, index) => {
        const folded = foldHealth(health, fact, limit);
        ({ health } = folded);
        return folded.fails ? [index] : [];
      });
    };
    const row = Array.from({ length: limit + 2 }, (_, nth) => failure(nth));
    expect(failing(row)).toEqual(expected);
    const again = expected.map((index) => index + limit);
    const interrupted = [...row.slice(0, limit - 1), success(90), ...row.slice(0, limit - 1)];
    if (limit > 1) expect(failing(interrupted)).toEqual([...expected, ...again]);
  });
});
