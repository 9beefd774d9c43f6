import { Inject, Injectable } from '@nestjs/common';
import type { ApiKeyId } from '#libs/domain';
import { ApiKeyRecords } from '#libs/postgres';
import { LOGGER, RegularWork } from '#libs/platform';
import type { Logger } from '#libs/runtime';

/** The last use of a key need not be known to the second. */
const FLUSH_EVERY_MS = 15_000;

/** Records when keys were last used, many uses in one write. */
@Injectable()
export class KeyUses extends RegularWork {
  #uses = new Map<ApiKeyId, number>();

  constructor(
    private readonly records: ApiKeyRecords,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super({ everyMs: FLUSH_EVERY_MS });
  }

  note(id: ApiKeyId, atMs: number): void {
    this.#uses.set(id, atMs);
  }

  override async beforeApplicationShutdown(): Promise<void> {
    await super.beforeApplicationShutdown();
    await this.flush();
  }

  protected async act(): Promise<undefined> {
    await this.flush();
  }

  protected failed(): void {
    // A flush logs its own failures.
  }

  /**
   * Writes the noted uses; those of keys that something else holds, with the next flush. Uses that cannot be written are
   * lost, since nothing depends on them.
   */
  async flush(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = this.#uses;
    this.#uses = new Map();
    try {
      const held = await this.records.touch(new Map([...uses].map(([id, atMs]) => [id, new Date(atMs)])));
      for (const id of held) this.note(id, Math.max(uses.get(id) ?? 0, this.#uses.get(id) ?? 0));
    } catch (error) {
      this.logger.warn({ err: error }, 'api_keys.last_use_not_noted');
    }
  }
}
