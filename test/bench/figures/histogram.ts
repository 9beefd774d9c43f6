/** Durations in milliseconds, all of them kept, so that its quantiles are exact. */
export class Histogram {
  readonly #values: number[] = [];
  #sorted = true;

  static of(values: readonly number[]): Histogram {
    const histogram = new Histogram();
    for (const value of values) histogram.record(value);
    return histogram;
  }

  get count(): number {
    return this.#values.length;
  }

  record(ms: number): void {
    this.#values.push(ms);
    this.#sorted = false;
  }

  /** The smallest recorded value that this share (0 … 1) of all values does not exceed; NaN without any. */
  quantile(share: number): number {
    if (!this.#sorted) this.#values.sort((a, b) => a - b);
    this.#sorted = true;
    return this.#values[Math.max(0, Math.ceil(share * this.#values.length) - 1)] ?? Number.NaN;
  }
}
