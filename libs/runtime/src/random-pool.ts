import { webcrypto } from 'node:crypto';

/**
 * Returns random numbers in 0 … 1 from the system's generator. It draws 256 at a time, because one call for each would
 * be most of an id's cost.
 */
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
