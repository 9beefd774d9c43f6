/** The session that a member of a consumer group agrees on with its broker. */
export interface SessionTimes {
  /** The group gives up a member after that long without a heartbeat. */
  readonly sessionMs: number;
  readonly heartbeatMs: number;
}

/**
 * Tried first: the group notices a killed process within it. A broker accepts nothing below its
 * `group.min.session.timeout.ms`, 6 s by default.
 */
const SHORTEST: SessionTimes = { sessionMs: 3_500, heartbeatMs: 500 };
const LONGER: readonly SessionTimes[] = [
  { sessionMs: 6_000, heartbeatMs: 1_000 },
  { sessionMs: 10_000, heartbeatMs: 1_000 },
  { sessionMs: 30_000, heartbeatMs: 3_000 },
];

/** The session times that the brokers accept, as far as is known. */
export class AcceptedSessionTimes {
  #current = SHORTEST;

  get current(): SessionTimes {
    return this.#current;
  }

  /** The brokers accept no session as short as this. @returns whether there is a longer one to try */
  refuse({ sessionMs }: SessionTimes): boolean {
    // Several members learn of it at the same time.
    if (sessionMs < this.#current.sessionMs) return true;
    const longer = LONGER.find((times) => times.sessionMs > sessionMs);
    if (longer === undefined) return false;
    this.#current = longer;
    return true;
  }
}
