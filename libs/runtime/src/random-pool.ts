import { webcrypto } from 'node:crypto';

/** Random numbers in 0 … 1, from the system's generator in handfuls: one call for each is most of an id's cost. */
export class RandomPool {
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
