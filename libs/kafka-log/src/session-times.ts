/** What a member of a consumer group agrees on with its broker. */
export interface SessionTimes {
  /** A member that is not heard from for that long is given up. */
  readonly sessionMs: number;
  readonly heartbeatMs: number;
}

/**
 * The shortest first: a killed process is missed within it. A broker accepts nothing below its
 * `group.min.session.timeout.ms`, 6 s unless it was told otherwise.
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
