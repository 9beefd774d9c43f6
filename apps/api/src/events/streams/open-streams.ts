import { Inject, Injectable } from '@nestjs/common';
import { GaplessError, type OrgId } from '#libs/domain';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';

/** When a refused client may try again. */
const RETRY_AFTER_SECONDS = 5;

/** Counts the open streams of this process. Each of them holds a page and a connection. */
@Injectable()
export class OpenStreams {
  readonly #byKey = new Map<string, number>();
  readonly #byOrg = new Map<OrgId, number>();
  #total = 0;

  constructor(@Inject(CONFIG) private readonly config: Pick<Config, 'maxStreams' | 'maxStreamsPerKey'>) {}

  /**
   * Opens a stream of the org for the key. An org may have half of the streams that other orgs leave, however many keys
   * it has.
   * @returns a function that closes the stream; a second call does nothing
   * @throws GaplessError `rate_limited` if the key, its org or the process is at its limit
   */
  open(orgId: OrgId, key: string): () => void {
    const { maxStreams, maxStreamsPerKey } = this.config;
    const ofKey = this.#byKey.get(key) ?? 0;
    if (ofKey >= maxStreamsPerKey) {
      throw refused(`This key has ${maxStreamsPerKey} streams open, which is the limit. Close one first.`);
    }
    if (this.#total >= maxStreams) throw refused('This server has reached its limit of open streams.');
    const ofOrg = this.#byOrg.get(orgId) ?? 0;
    const ofOthers = this.#total - ofOrg;
    if (ofOrg >= Math.ceil((maxStreams - ofOthers) / 2)) {
      throw refused(`This organization has ${ofOrg} streams open, which is its share of this server. Close one first.`);
    }
    this.#byKey.set(key, ofKey + 1);
    this.#byOrg.set(orgId, ofOrg + 1);
    this.#total++;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#total--;
      takeOne(this.#byKey, key);
      takeOne(this.#byOrg, orgId);
    };
  }
}

function takeOne<Key>(counts: Map<Key, number>, key: Key): void {
  const left = (counts.get(key) ?? 1) - 1;
  if (left === 0) counts.delete(key);
  else counts.set(key, left);
}

function refused(detail: string): GaplessError {
  return new GaplessError('rate_limited', detail, { limit: 'streams', retryAfterSeconds: RETRY_AFTER_SECONDS });
}
