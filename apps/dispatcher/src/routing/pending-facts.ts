import type { DeliveryRef, DueAttempt } from '#libs/domain';

/** How long a first attempt may take before its delivery is shown as pending, milliseconds. */
const SHOWN_AFTER_MS = 300;
const LOOK_EVERY_MS = 100;

/**
 * The deliveries whose first attempt has no outcome yet. Most have one within moments, and it says all that the
 * delivery log shows. Only those that take longer get a fact of their own before.
 */
export class PendingFacts {
  /**
   * The deliveries without a fact, with the monotonic time of their beginning; the oldest comes first. Their attempts may be
   * copied meanwhile.
   */
  readonly #young = new Map<DeliveryRef, number>();
  #timer: NodeJS.Timeout | null = null;

  /** @param write writes the facts of deliveries; never rejects, unless the process ends */
  constructor(private readonly write: (deliveries: readonly DeliveryRef[]) => Promise<void>) {}

  begin({ delivery }: DueAttempt): void {
    this.#young.set(delivery, performance.now());
    this.#timer ??= setTimeout(() => {
      this.#look();
    }, LOOK_EVERY_MS);
  }

  /** @returns whether the delivery has no fact */
  end({ delivery }: DueAttempt): boolean {
    return this.#young.delete(delivery);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #look(): void {
    this.#timer = null;
    const beforeMs = performance.now() - SHOWN_AFTER_MS;
    const late: DeliveryRef[] = [];
    for (const [delivery, sinceMs] of this.#young) {
      if (sinceMs > beforeMs) break;
      late.push(delivery);
      this.#young.delete(delivery);
    }
    if (late.length > 0) void this.write(late).catch(() => undefined);
    if (this.#young.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#look();
    }, LOOK_EVERY_MS);
  }
}
