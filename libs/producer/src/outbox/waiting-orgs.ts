import { backOffMs, randomFraction } from '../../../api-client/src/index.js';

interface Wait {
  readonly failures: number;
  readonly untilMs: number;
}

/** The organizations whose next event a proxy refuses. Each is tried again with its own back-off. */
export class WaitingOrgs {
  readonly #waits = new Map<string, Wait>();

  /** All of them, due or not. */
  get ids(): readonly string[] {
    return [...this.#waits.keys()];
  }

  /** @param retryAfterMs how long to wait at least */
  add(orgId: string, retryAfterMs: number): void {
    const failures = (this.#waits.get(orgId)?.failures ?? 0) + 1;
    const waitMs = Math.max(retryAfterMs, backOffMs(failures, randomFraction()));
    this.#waits.set(orgId, { failures, untilMs: performance.now() + waitMs });
  }

  remove(orgId: string): void {
    this.#waits.delete(orgId);
  }

  /** Returns the one that has been due for longest; `undefined` if none is. */
  due(): string | undefined {
    let next: string | undefined;
    let nextMs = performance.now();
    for (const [orgId, { untilMs }] of this.#waits) {
      if (untilMs <= nextMs) [next, nextMs] = [orgId, untilMs];
    }
    return next;
  }
}
