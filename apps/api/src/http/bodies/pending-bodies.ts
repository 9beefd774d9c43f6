import { GaplessError } from '#libs/domain';
import { FairRoom } from '../fair-room.js';

/** What one request holds of the room. */
export interface HeldBody {
  /** @throws GaplessError `rate_limited` if its caller holds too many bytes; `unavailable` if the others do */
  readonly grow: (bytes: number) => void;
  /** One more keeps the body, and has to release it. */
  readonly keep: () => void;
  /** Gives the room back once nobody keeps the body. */
  readonly release: () => void;
}

/**
 * Limits the bytes of request bodies in memory, from their first byte until they are answered and nobody keeps them: those
 * that arrive, those that wait for Kafka or another server, and those whose answers are not read.
 */
export class PendingBodies {
  readonly #room: FairRoom;

  constructor(maxBytes: number) {
    this.#room = new FairRoom(maxBytes);
  }

  /** @param caller whose share the request takes room of. It is kept once. */
  of(caller: string): HeldBody {
    const room = this.#room;
    let held = 0;
    let keepers = 1;
    return {
      grow: (bytes) => {
        if (keepers === 0) return;
        const [ofCaller, allowed] = [room.held(caller), room.allowed(caller)];
        if (ofCaller + bytes > allowed) throw ofCaller === 0 ? fullOfOthers() : fullOfItsOwn(ofCaller, allowed);
        room.add(caller, bytes);
        held += bytes;
      },
      keep: () => {
        keepers++;
      },
      release: () => {
        if (--keepers > 0) return;
        room.add(caller, -held);
        held = 0;
      },
    };
  }
}

function fullOfItsOwn(held: number, allowed: number): GaplessError {
  return new GaplessError(
    'rate_limited',
    `${held} bytes of your requests wait for their answers, and ${allowed} may. Nothing was accepted; try again.`,
    { retryAfterSeconds: 1 },
  );
}

function fullOfOthers(): GaplessError {
  return new GaplessError('unavailable', 'Too many requests wait for their answers. Nothing was accepted; try again.');
}
