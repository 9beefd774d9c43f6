import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { StoreNotOpenError } from '#libs/postgres';
import { Regularly, type RegularlyOptions } from '#libs/runtime';

/** Work that a process repeats by `Regularly` while it runs. Until the store is open, it waits with back-off. */
export abstract class RegularWork implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #work: Regularly;

  protected constructor(times: Pick<RegularlyOptions, 'everyMs' | 'firstAfterMs'>) {
    this.#work = new Regularly({
      ...times,
      act: (signal) => this.act(signal),
      onFailure: (...failure) => {
        // What opens the store reports what it waits for.
        if (!(failure[0] instanceof StoreNotOpenError)) this.failed(...failure);
      },
    });
  }

  onApplicationBootstrap(): void {
    this.#work.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#work.stop();
  }

  /** @returns the milliseconds until the next time, if different from the usual interval */
  protected abstract act(signal: AbortSignal): Promise<number | undefined>;

  protected abstract failed(...failure: Parameters<RegularlyOptions['onFailure']>): void;
}
