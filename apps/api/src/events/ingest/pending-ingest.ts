import { Inject, Injectable } from '@nestjs/common';
import { GaplessError } from '#libs/domain';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { FairRoom } from '../../http/fair-room.js';

/** Limits the bytes of ingest requests that wait for Kafka. Requests above the limit are refused. */
@Injectable()
export class PendingIngest {
  readonly #room: FairRoom;

  constructor(@Inject(CONFIG) config: Pick<Config, 'maxPendingIngestBytes'>) {
    this.#room = new FairRoom(config.maxPendingIngestBytes);
  }

  /**
   * Reserves room for the bytes while `write` runs.
   * @throws GaplessError `rate_limited` if this caller has too many bytes waiting; `unavailable` if the others have
   */
  async whileWaiting(caller: string, bytes: number, write: () => Promise<void>): Promise<void> {
    const waiting = this.#room.held(caller);
    const allowed = this.#room.allowed(caller);
    if (waiting + bytes > allowed) throw waiting === 0 ? fullOfOthers() : fullOfItsOwn(waiting, allowed);
    this.#room.add(caller, bytes);
    try {
      await write();
    } finally {
      this.#room.add(caller, -bytes);
    }
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
