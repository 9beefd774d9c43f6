import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { fetchInTime } from './fetch-in-time.js';

let send: (piece: string) => void;
let end: () => void;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  jest.spyOn(globalThis, 'fetch').mockImplementation((_request, init) => {
    const body = new ReadableStream<Uint8Array>({
      start(pieces) {
        send = (piece) => {
          pieces.enqueue(new TextEncoder().encode(piece));
        };
        end = () => {
          pieces.close();
        };
        init?.signal?.addEventListener('abort', () => {
          pieces.error(new Error('aborted'));
        });
      },
    });
    return Promise.resolve(new Response(body, { status: 200, headers: { 'x-head-sequence': '7' } }));
  });
});

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

/** Lets the time go by, and whatever it leads to happen. */
async function pass(ms: number): Promise<void> {
  await jest.advanceTimersByTimeAsync(ms);
  await new Promise((resolve) => setImmediate(resolve));
}

describe('an answer that comes in pieces', () => {
  it('may take long, as long as there is always another piece', async () => {
    const answer = fetchInTime(new Request('http://127.0.0.1/'));
    for (const piece of ['a', 'b', 'c']) {
      await pass(9_000);
      send(piece);
    }
    await pass(9_000);
    end();
    const response = await answer;
    expect(response.headers.get('x-head-sequence')).toBe('7');
    expect(await response.text()).toBe('abc');
  });

  it('is given up 10 s after the last one, and after 20 s if something was to be done', async () => {
    for (const [method, ms] of [
      ['GET', 10_000],
      ['POST', 20_000],
    ] as const) {
      const failures: unknown[] = [];
      fetchInTime(new Request('http://127.0.0.1/', { method })).catch((error: unknown) => failures.push(error));
      await pass(ms - 100);
      send('a');
      await pass(ms - 100);
      expect(failures).toEqual([]);
      await pass(200);
      expect(failures).toMatchObject([{ reason: 'too late', isAction: method === 'POST' }]);
    }
  });
});
