import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { Regularly, type RegularlyOptions } from '#libs/runtime';

/** Work that a process repeats from its start to its end, as `Regularly` does it. */
export abstract class RegularWork implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #work: Regularly;

  protected constructor(times: Pick<RegularlyOptions, 'everyMs' | 'firstAfterMs'>) {
    this.#work = new Regularly({
      ...times,
      act: (signal) => this.act(signal),
      onFailure: (...failure) => {
        this.failed(...failure);
      },
    });
  }

  onApplicationBootstrap(): void {
    this.#work.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#work.stop();
  }

  /** @returns after how long to do it again, if not after the usual time */
  protected abstract act(signal: AbortSignal): Promise<number | undefined>;

  protected abstract failed(...failure: Parameters<RegularlyOptions['onFailure']>): void;
}
