import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { ApiKeyId } from '#libs/domain';
import { ApiKeyRecords } from '#libs/postgres';
import { LOGGER } from '#libs/platform';
import { Regularly, type Logger } from '#libs/runtime';

/** Nobody needs to know to the second when a key was used last. */
const FLUSH_INTERVAL_MS = 15_000;

/** Notes when keys were used last: many uses with one write. */
@Injectable()
export class KeyUses implements OnApplicationBootstrap, BeforeApplicationShutdown {
  #uses = new Map<ApiKeyId, number>();
  readonly #flushes = new Regularly({
    everyMs: FLUSH_INTERVAL_MS,
    act: async () => {
      await this.flush();
      return undefined;
    },
    onFailure: () => undefined,
  });

  constructor(
    private readonly records: ApiKeyRecords,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  note(id: ApiKeyId, atMs: number): void {
    this.#uses.set(id, atMs);
  }

  onApplicationBootstrap(): void {
    this.#flushes.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#flushes.stop();
    await this.flush();
  }

  /** Writes the noted uses. Uses that cannot be written are lost, since nothing depends on them. */
  async flush(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = this.#uses;
    this.#uses = new Map();
    try {
      await this.records.touch(new Map([...uses].map(([id, atMs]) => [id, new Date(atMs)])));
    } catch (error) {
      this.logger.warn({ err: error }, 'api_keys.last_use_not_noted');
    }
  }
}
