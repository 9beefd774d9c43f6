import { describe, expect, it } from '@jest/globals';
import { backOffMs, untilItWorks } from './back-off.js';

describe('backOffMs', () => {
  it('doubles from 100 ms up to 5 s, however many failures there were', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 100, 10_000].map(backOffMs)).toEqual([
      100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000,
    ]);
  });
});

describe('untilItWorks', () => {
  it('returns what the first success returns, and reports each failure before', async () => {
    const told: unknown[] = [];
    let calls = 0;
    const result = await untilItWorks(
      () => (++calls < 3 ? Promise.reject(new Error(`no. ${calls}`)) : Promise.resolve('done')),
      { onFailure: (error, failures, waitMs) => told.push([(error as Error).message, failures, waitMs]) },
    );
    expect(result).toBe('done');
    expect(told).toEqual([
      ['no. 1', 1, 100],
      ['no. 2', 2, 200],
    ]);
  });

  it('gives up with what onFailure throws', async () => {
    let calls = 0;
    const attempt = untilItWorks(
      () => {
        calls++;
        return Promise.reject(new Error('refused'));
      },
      {
        onFailure: (error) => {
          throw error;
        },
      },
    );
    await expect(attempt).rejects.toThrow('refused');
    expect(calls).toBe(1);
  });

  it('does not begin once its signal is aborted', async () => {
    let calls = 0;
    const attempt = untilItWorks(() => Promise.resolve(calls++), {
      onFailure: () => undefined,
      signal: AbortSignal.abort(new Error('the process ends')),
    });
    await expect(attempt).rejects.toThrow('the process ends');
    expect(calls).toBe(0);
  });

  it('stops waiting as soon as its signal is aborted', async () => {
    const ending = new AbortController();
    let calls = 0;
    const attempt = untilItWorks(
      () => {
        calls++;
        return Promise.reject(new Error('down'));
      },
      {
        signal: ending.signal,
        onFailure: () => {
          ending.abort();
        },
      },
    );
    await expect(attempt).rejects.toMatchObject({ name: 'AbortError' });
    expect(calls).toBe(1);
  });
});
