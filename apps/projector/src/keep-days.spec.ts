import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { DayPartitions, EndpointVersions, InactivePeriods, Store } from '#libs/postgres';
import { Metrics } from '#libs/telemetry';
import { aStageKit } from '../../../test/support/stage-kit.js';
import { KeepDays } from './keep-days.js';

const STARTED_MS = Date.UTC(2026, 5, 1);
const HOUR_MS = 3_600_000;
const EVERYTHING = ['tables', 'days', 'versions', 'periods', 'one', 'two'];

class KeepDaysNow extends KeepDays {
  override act(): Promise<undefined> {
    return super.act(ending.signal);
  }
}

let clock: { nowMs: number };
let elapsedMs: number;
let metrics: Metrics;
let failing: Set<string>;
let done: Set<string>;
let ending: AbortController;
/** The calls in which expired versions are removed, how long each takes, and how far the clock is set during each. */
let expired: { calls: number; readonly callMs: number; readonly setByMs?: number };
let keeping: KeepDaysNow;

/** Work of that name, which fails as long as the test says so. */
function work(name: string, result: unknown) {
  return () => {
    if (failing.has(name)) return Promise.reject(new Error(`${name} fails`));
    done.add(name);
    return Promise.resolve(result);
  };
}

/** A database of the feed in which no table is past retention. */
function anotherDatabase(name: string): Store {
  return { query: work(name, []), transaction: () => Promise.resolve() } as unknown as Store;
}

async function prunedAtMs(): Promise<number> {
  const { text } = await metrics.scrape();
  return Number(/^gapless_pruned_timestamp_seconds (\S+)$/m.exec(text)?.[1]) * 1_000;
}

beforeEach(() => {
  [clock, metrics, failing, done] = [{ nowMs: STARTED_MS }, new Metrics(), new Set(), new Set()];
  const kit = aStageKit({ nowMs: 0, config: { retentionMs: 30 * 24 * HOUR_MS }, metrics });
  Object.assign(kit, { clock: { now: () => clock.nowMs } });
  const all = ['one', 'two'].map((name) => ({ name, store: anotherDatabase(name) }));
  const days = { ensure: work('tables', undefined), prune: work('days', []) } as unknown as DayPartitions;
  ending = new AbortController();
  expired = { calls: 1, callMs: 0 };
  const prune = async () => {
    await work('versions', undefined)();
    elapsedMs += expired.callMs;
    clock.nowMs += expired.callMs + (expired.setByMs ?? 0);
    expired.calls--;
    return expired.calls <= 0;
  };
  const versions = { prune } as unknown as EndpointVersions;
  const periods = { prune: work('periods', true) } as unknown as InactivePeriods;
  const query = () => Promise.resolve([{ now_ms: String(clock.nowMs) }]);
  const store = { feed: { all, reachable: all }, query } as unknown as Store;
  keeping = new KeepDaysNow(store, days, versions, periods, kit);
  elapsedMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => elapsedMs);
});

afterEach(() => {
  jest.restoreAllMocks();
});

describe('what is past retention', () => {
  it('is all removed, and the metric says when', async () => {
    clock.nowMs += HOUR_MS;
    await keeping.act();
    expect(done).toEqual(new Set(EVERYTHING));
    expect(await prunedAtMs()).toBe(clock.nowMs);
  });

  it('is all removed by one look, in steps', async () => {
    expired = { calls: 3, callMs: 10_000 };
    await keeping.act();
    expect(expired.calls).toBe(0);
    expect(await prunedAtMs()).toBe(STARTED_MS + 30_000);
  });

  it('is left to the next look after a minute, which the metric shows', async () => {
    expired = { calls: 10, callMs: 10_000 };
    await keeping.act();
    expect([expired.calls, await prunedAtMs()]).toEqual([4, STARTED_MS]);
    await keeping.act();
    expect(await prunedAtMs()).toBe(clock.nowMs);
  });

  it('is left after a minute also while the clock is set back', async () => {
    expired = { calls: 10, callMs: 10_000, setByMs: -HOUR_MS };
    await keeping.act();
    expect(expired.calls).toBe(4);
  });

  it('is left when the process ends', async () => {
    ending.abort();
    await keeping.act();
    expect([expired.calls, await prunedAtMs()]).toEqual([1, STARTED_MS]);
  });

  it.each(['days', 'versions', 'periods', 'one'])(
    'is removed everywhere else when one part fails, which the metric shows: %s',
    async (name) => {
      failing.add(name);
      clock.nowMs += HOUR_MS;
      await keeping.act().catch(() => undefined);
      expect(done.add(name)).toEqual(new Set(EVERYTHING));
      expect(await prunedAtMs()).toBe(STARTED_MS);
      failing.clear();
      await keeping.act();
      expect(await prunedAtMs()).toBe(clock.nowMs);
    },
  );
});
