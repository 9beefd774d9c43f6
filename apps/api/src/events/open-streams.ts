import { Inject, Injectable } from '@nestjs/common';
import { GaplessError, type ApiKeyId } from '#libs/domain';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';

/** When a client that was refused may try again. */
const RETRY_AFTER_SECONDS = 5;

/** Counts the streams that are open in this process: each of them holds a page and a connection. */
@Injectable()
export class OpenStreams {
  readonly #byKey = new Map<ApiKeyId, number>();
  #total = 0;

  constructor(@Inject(CONFIG) private readonly config: Pick<Config, 'maxStreams' | 'maxStreamsPerKey'>) {}

  /**
   * Opens a stream for the key.
   * @returns closes it; a second call does nothing
   * @throws GaplessError `rate_limited` if the key, or the process, has as many as it may have
   */
  open(key: ApiKeyId): () => void {
    const { maxStreams, maxStreamsPerKey } = this.config;
    const ofKey = this.#byKey.get(key) ?? 0;
    if (ofKey >= maxStreamsPerKey) {
      throw refused(`This key has ${maxStreamsPerKey} streams open, which is the limit. Close one first.`);
    }
    if (this.#total >= maxStreams) throw refused('This server has reached its limit of open streams.');
    this.#byKey.set(key, ofKey + 1);
    this.#total++;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#total--;
      const left = (this.#byKey.get(key) ?? 1) - 1;
      if (left === 0) this.#byKey.delete(key);
      else this.#byKey.set(key, left);
    };
  }
}

function refused(detail: string): GaplessError {
  return new GaplessError('rate_limited', detail, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
