import { EventEmitter } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import type { Client } from 'pg';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { LockLostError } from '../postgres-away.js';
import { whileHeld } from './held-lock.js';

function aConnection(query: () => Promise<unknown>): Client {
  return Object.assign(new EventEmitter(), { query }) as never;
}

/** Work that goes on until its lock is lost. */
function untilLost(lost: AbortSignal): Promise<string> {
  return eventually(() => {
    expect(lost.aborted).toBe(true);
    return 'done';
  });
}

describe('the connection of a lock', () => {
  it('is asked again and again while the work goes on', async () => {
    let asked = 0;
    const client = aConnection(() => Promise.resolve(asked++));
    const work = () =>
      eventually(() => {
        expect(asked).toBeGreaterThan(2);
        return 'done';
      });
    expect(await whileHeld(client, work, 1)).toBe('done');
    expect(client.listenerCount('error')).toBe(0);
  });

  it('is not asked for work that is done in a moment, whose failures stay what they are', async () => {
    const client = aConnection(() => Promise.reject(new Error('not asked')));
    expect(await whileHeld(client, () => Promise.resolve('done'), 20_000)).toBe('done');
    await expect(whileHeld(client, () => Promise.reject(new Error('the brokers are away')), 20_000)).rejects.toThrow(
      'brokers',
    );
  });

  it('is lost if it does not answer: the work gets the signal, and has failed', async () => {
    const client = aConnection(() => Promise.reject(new Error('Query read timeout')));
    const work = whileHeld(client, untilLost, 1);
    await expect(work).rejects.toThrow(LockLostError);
    await expect(work).rejects.toThrow('Query read timeout');
  });

  it('is lost if it says so, also for work that failed then', async () => {
    const client = aConnection(() => Promise.resolve());
    const work = whileHeld(
      client,
      (lost) => {
        client.emit('error', new Error('terminating connection'));
        lost.throwIfAborted();
        return Promise.reject(new Error('it went on'));
      },
      20_000,
    );
    await expect(work).rejects.toThrow('terminating connection');
  });
});
