import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { StoreNotOpenError } from '#libs/postgres';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { RegularWork } from './regular-work.js';

class Work extends RegularWork {
  done = 0;
  readonly failures: unknown[] = [];

  constructor(private readonly outcomes: (Error | null)[]) {
    super({ everyMs: 60_000, firstAfterMs: 0 });
  }

  protected async act(): Promise<undefined> {
    await delay(0);
    const outcome = this.outcomes.shift() ?? null;
    if (outcome !== null) throw outcome;
    this.done++;
  }

  protected failed(error: unknown): void {
    this.failures.push(error);
  }
}

let work: Work;

afterEach(async () => {
  await work.beforeApplicationShutdown();
});

describe('regular work', () => {
  it('waits until the store is open, which is no failure', async () => {
    work = new Work([new StoreNotOpenError(), new StoreNotOpenError()]);
    work.onApplicationBootstrap();
    await eventually(() => {
      expect(work.done).toBe(1);
    });
    expect(work.failures).toEqual([]);
  });

  it('reports what fails, and tries again', async () => {
    const error = new Error('it broke');
    work = new Work([error]);
    work.onApplicationBootstrap();
    await eventually(() => {
      expect(work.done).toBe(1);
    });
    expect(work.failures).toEqual([error]);
  });
});
