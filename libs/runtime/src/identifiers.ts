import { webcrypto } from 'node:crypto';
import { monotonicFactory } from 'ulid';
import type { ApiKeyId, Clock, EndpointId, EventId } from '#libs/domain';

/** Random numbers in 0 … 1, from the system's generator in handfuls: one call for each is most of an id's cost. */
class RandomPool {
  readonly #numbers = new Uint32Array(256);
  #used = this.#numbers.length;

  readonly next = (): number => {
    if (this.#used === this.#numbers.length) {
      webcrypto.getRandomValues(this.#numbers);
      this.#used = 0;
    }
    return (this.#numbers[this.#used++] ?? 0) / 2 ** 32;
  };
}

/** Makes the time-ordered identifiers of decisions, section 1: a prefix and a ULID. */
export class Identifiers {
  readonly #ulid = monotonicFactory(new RandomPool().next);
  constructor(private readonly clock: Clock) {}

  eventId(): EventId {
    return `evt_${this.#ulid(this.clock.now())}` as EventId;
  }

  endpointId(): EndpointId {
    return `whe_${this.#ulid(this.clock.now())}` as EndpointId;
  }

  apiKeyId(): ApiKeyId {
    return `gk_${this.#ulid(this.clock.now())}` as ApiKeyId;
  }
}
