import { beforeEach, describe, expect, it } from '@jest/globals';
import { PendingIngest } from './pending-ingest.js';

const MIB = 1_024 ** 2;

let pending: PendingIngest;
let end: (() => void)[];

beforeEach(() => {
  pending = new PendingIngest({ maxPendingIngestBytes: 16 * MIB });
  end = [];
});

/** A write that waits until `end` is called. */
function write(caller: string, mib: number): Promise<void> {
  return pending.whileWaiting(caller, mib * MIB, () => new Promise((resolve) => end.push(resolve)));
}

const refused = { code: 'rate_limited', options: { retryAfterSeconds: 1 } };

describe('a caller', () => {
  it('may have half of what the others leave waiting', async () => {
    void write('greedy', 4);
    void write('greedy', 4);
    await expect(write('greedy', 1)).rejects.toMatchObject(refused);
    void write('other', 4);
    await expect(write('other', 1)).rejects.toMatchObject(refused);
    await expect(write('third', 3)).rejects.toMatchObject({ code: 'unavailable' });
    void write('third', 2);
    expect(end).toHaveLength(4);
  });

  it('may write again once its events are written, or could not be', async () => {
    const written = write('greedy', 8);
    await expect(write('greedy', 1)).rejects.toMatchObject(refused);
    end[0]?.();
    await written;
    await expect(pending.whileWaiting('greedy', 8 * MIB, () => Promise.reject(new Error('away')))).rejects.toThrow();
    void write('greedy', 8);
    expect(end).toHaveLength(2);
  });
});
