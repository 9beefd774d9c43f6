import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ApiKeyId } from '#libs/domain';
import { IngestPace } from './ingest-pace.js';
import { PartTempo } from './part-tempo.js';

const [ONE, OTHER] = ['one' as ApiKeyId, 'other' as ApiKeyId];

const MIB = 1024 * 1024;
const events = (count: number) => ({ events: count, bytes: count * 700 });

/** What takes less than this counts as quick, milliseconds: what else the machine does is not to be seen here. */
const QUICK_MS = 100;
// oxlint-disable-next-line typescript/unbound-method -- it is called with its object below
const { took } = PartTempo.prototype;

let pace: IngestPace;
let fired: jest.SpiedFunction<PartTempo['fired']>;

beforeEach(() => {
  jest.spyOn(PartTempo.prototype, 'took').mockImplementation(function (this: PartTempo, tookMs, nowMs) {
    took.call(this, tookMs < QUICK_MS ? 0 : tookMs, nowMs);
  });
  fired = jest.spyOn(PartTempo.prototype, 'fired').mockReturnValue();
  // 2,000 events a second.
  pace = new IngestPace({ rateLimitPerSecond: 100, rateLimitBytesPerSecond: 4 * MIB });
});

afterEach(() => {
  jest.restoreAllMocks();
});

describe('the large requests of a key', () => {
  const waits = (key: ApiKeyId, load: { events: number; bytes: number }, atMs: number) =>
    pace.take(key, load, atMs).inMs;

  it('go through one after the other, at its rate', () => {
    const takesMs = { events: 250, bytes: (500 * 700) / ((4 * MIB) / 1_000) };
    expect([1, 2, 3].map(() => pace.take(ONE, events(500), 0))).toEqual([
      { inMs: 0, takesMs },
      { inMs: 250, takesMs },
      { inMs: 500, takesMs },
    ]);
  });

  it('do not wait once their turn has passed', () => {
    pace.take(ONE, events(4_000), 0);
    expect(waits(ONE, events(500), 1_000)).toBe(1_000);
    expect(waits(ONE, events(500), 2_500)).toBe(0);
    expect(waits(ONE, events(500), 10_000)).toBe(0);
  });

  it('delay no small one, and no other key', () => {
    pace.take(ONE, events(4_000), 0);
    expect(pace.take(ONE, events(20), 0)).toEqual({ inMs: 0, takesMs: { events: 0, bytes: 0 } });
    expect(waits(OTHER, events(500), 0)).toBe(0);
    expect(waits(ONE, events(21), 0)).toBe(2_010);
  });

  it('go through at its rate of bytes, too', () => {
    const large = { events: 15, bytes: 4 * MIB };
    expect([1, 2, 3].map(() => waits(ONE, large, 0))).toEqual([0, 1_000, 2_000]);
    expect(waits(ONE, { events: 1, bytes: 256 * 1024 }, 0)).toBe(0);
  });

  it('wait for one with more than the quota as if it were the quota', () => {
    pace.take(ONE, { events: 500, bytes: 100 * MIB }, 0);
    expect(waits(ONE, events(500), 0)).toBe(2_000);
  });

  it('are over after two windows of the quota', () => {
    const over = Array.from({ length: 100 }, (_, nth) => nth)
      // A quota of 4,000 in two seconds, used at once.
      .flatMap((window) => Array.from({ length: 8 }, () => pace.take(ONE, events(500), window * 2_000)))
      .map(({ inMs, takesMs }) => inMs + takesMs.events);
    expect(Math.max(...over)).toBeLessThanOrEqual(4_000);
  });

  it('are over after two windows, though others have the bytes and they the events', () => {
    const over = Array.from({ length: 100 }, (_, nth) => nth).flatMap((window) => {
      const heavy = Array.from({ length: 30 }, () => ({ events: 1, bytes: 256 * 1024 }));
      const many = Array.from({ length: 7 }, () => ({ events: 500, bytes: 50_000 }));
      return [...heavy, ...many].map((load) => {
        const { inMs, takesMs } = pace.take(ONE, load, window * 2_000);
        return inMs + Math.max(takesMs.events, takesMs.bytes);
      });
    });
    expect(Math.max(...over)).toBeLessThanOrEqual(4_000);
  });
});

describe('a request', () => {
  const partsOf = async (count: number, bytes: number) => {
    const parts: number[][] = [];
    const numbers = Array.from({ length: count }, (_, nth) => nth);
    for await (const part of pace.inTurn(ONE, numbers, bytes)) parts.push([...part]);
    expect(parts.flat()).toEqual(numbers);
    return parts.map(({ length }) => length);
  };

  it('with few events and bytes is accepted at once', async () => {
    expect(await partsOf(20, 512 * 1024)).toEqual([20]);
  });

  it('with many events comes in parts that take a moment each, in order', async () => {
    const began = performance.now();
    // Each is larger than the one before it, as long as it is acknowledged at once.
    expect(await partsOf(250, 250 * 700)).toEqual([20, 25, 31, 39, 48, 61, 26]);
    // The last part is due after 224 events, which take 112 ms at 2,000 a second; 50 of them are free.
    expect(performance.now() - began).toBeGreaterThan(60);
  });

  it('is complete before the next one begins', async () => {
    const begun: string[] = [];
    const comes = async (name: string) => {
      for await (const part of pace.inTurn(ONE, Array<string>(250).fill(name), 250 * 700)) begun.push(part[0]!);
    };
    await Promise.all([comes('first'), comes('second')]);
    expect(begun).toEqual([...begun].sort());
    expect(new Set(begun)).toEqual(new Set(['first', 'second']));
  });

  it('lets the next one begin when it fails', async () => {
    const fails = async () => {
      for await (const { length } of pace.inTurn(ONE, Array<number>(250).fill(0), 250 * 700)) {
        throw new Error(`${length} were not acknowledged`);
      }
    };
    const [failed] = await Promise.allSettled([fails(), partsOf(250, 250 * 700)]);
    expect(failed).toMatchObject({ status: 'rejected' });
  });

  it('rests after a part that had to wait, and then has smaller parts', async () => {
    await partsOf(500, 500 * 700);
    const sizes: number[] = [];
    let [endedAt, restedMs] = [Infinity, 0];
    for await (const part of pace.inTurn(ONE, Array<number>(250).fill(0), 250 * 700)) {
      restedMs = Math.max(restedMs, performance.now() - endedAt);
      sizes.push(part.length);
      if (sizes.length === 1) await delay(150);
      endedAt = performance.now();
    }
    expect(sizes.slice(0, 2)).toEqual([100, 50]);
    expect(restedMs).toBeGreaterThan(150);
  });

  it('waits a moment before each part, to see how busy the thread is', async () => {
    await partsOf(250, 250 * 700);
    expect(fired).toHaveBeenCalledTimes(7);
    const busy = setInterval(() => {
      const until = performance.now() + 40;
      while (performance.now() < until);
    }, 1);
    await partsOf(250, 250 * 700);
    clearInterval(busy);
    expect(Math.max(...fired.mock.calls.slice(7).map(([lateMs]) => lateMs))).toBeGreaterThan(20);
  });

  it('of one part does not wait for a busy machine, if nothing large came from its key before', async () => {
    const began = performance.now();
    jest.spyOn(PartTempo.prototype, 'restsUntilMs', 'get').mockReturnValue(began + 5_000);
    const [first, second] = [partsOf(100, 100 * 700), partsOf(100, 100 * 700)];
    expect(await first).toEqual([100]);
    expect(performance.now() - began).toBeLessThan(4_900);
    const [part] = await second;
    expect(part).toBeLessThan(100);
    expect(performance.now() - began).toBeGreaterThan(4_900);
  });

  it('that came 10 seconds ago waits for its turn alone', async () => {
    const now = performance.now.bind(performance);
    let aheadMs = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
    const sizes: number[] = [];
    for await (const { length } of pace.inTurn(ONE, Array<number>(500).fill(0), 500 * 700)) {
      sizes.push(length);
      // Each part takes so long that the next ones would be the smallest.
      if (sizes.length <= 3) aheadMs += 3_000;
    }
    clock.mockRestore();
    expect(sizes).toEqual([20, 20, 20, 100, 100, 100, 100, 40]);
  });

  it('with many bytes comes in parts', async () => {
    pace = new IngestPace({ rateLimitPerSecond: 100, rateLimitBytesPerSecond: 64 * MIB });
    expect(await partsOf(15, 15 * 512 * 1024)).toEqual([6, 6, 3]);
  });

  it('comes at once where limits leave time for it', async () => {
    pace = new IngestPace({ rateLimitPerSecond: 1_000_000, rateLimitBytesPerSecond: 1_024 * MIB });
    expect(await partsOf(500, 4 * MIB)).toEqual([500]);
  });
});
