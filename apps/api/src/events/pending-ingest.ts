import { Inject, Injectable } from '@nestjs/common';
import { GaplessError } from '#libs/domain';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';

/**
 * Bounds the bytes of ingest requests that wait for Kafka; more is refused rather than piled up. A caller may use half of
 * what the others leave. So one that writes more than Kafka takes always leaves as much for those who come after it.
 */
@Injectable()
export class PendingIngest {
  readonly #byCaller = new Map<string, number>();
  readonly #max: number;
  #total = 0;

  constructor(@Inject(CONFIG) config: Pick<Config, 'maxPendingIngestBytes'>) {
    this.#max = config.maxPendingIngestBytes;
  }

  /**
   * Holds room for the bytes while `write` runs.
   * @throws GaplessError `rate_limited` when too much of this caller waits; `unavailable` when too much of others does
   */
  async whileWaiting(caller: string, bytes: number, write: () => Promise<void>): Promise<void> {
    const waiting = this.#byCaller.get(caller) ?? 0;
    const allowed = Math.floor((this.#max - (this.#total - waiting)) / 2);
    if (waiting + bytes > allowed) throw waiting === 0 ? fullOfOthers() : fullOfItsOwn(waiting, allowed);
    this.#add(caller, bytes);
    try {
      await write();
    } finally {
      this.#add(caller, -bytes);
    }
  }

  #add(caller: string, bytes: number): void {
    this.#total += bytes;
    const waiting = (this.#byCaller.get(caller) ?? 0) + bytes;
    if (waiting === 0) this.#byCaller.delete(caller);
    else this.#byCaller.set(caller, waiting);
  }
}

function fullOfItsOwn(waiting: number, allowed: number): GaplessError {
  return new GaplessError(
    'rate_limited',
    `${waiting} bytes of your events wait to be written, and ${allowed} may. Nothing was accepted; try again.`,
    { retryAfterSeconds: 1 },
  );
}

function fullOfOthers(): GaplessError {
  return new GaplessError('unavailable', 'Too many events are waiting to be written. Nothing was accepted; try again.');
}
