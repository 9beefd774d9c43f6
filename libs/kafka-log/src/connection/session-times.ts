/** The session that a group member agrees on with its broker. */
export interface SessionTimes {
  /** Without a heartbeat for this long, the group drops the member. */
  readonly sessionMs: number;
  readonly heartbeatMs: number;
}

/**
 * The first session to try; the group notices a killed process within this time. A broker accepts no session shorter
 * than its `group.min.session.timeout.ms`, 6 s by default.
 */
const SHORTEST: SessionTimes = { sessionMs: 3_500, heartbeatMs: 500 };
const LONGER: readonly SessionTimes[] = [
  { sessionMs: 6_000, heartbeatMs: 1_000 },
  { sessionMs: 10_000, heartbeatMs: 1_000 },
  { sessionMs: 30_000, heartbeatMs: 3_000 },
];

/** The shortest session times that the brokers are not known to refuse. */
export class AcceptedSessionTimes {
  #current = SHORTEST;

  get current(): SessionTimes {
    return this.#current;
  }

  /** Notes that the brokers refuse so short a session. @returns whether there is a longer one to try */
  refuse({ sessionMs }: SessionTimes): boolean {
    // Several members get the refusal at the same time.
    if (sessionMs < this.#current.sessionMs) return true;
    const longer = LONGER.find((times) => times.sessionMs > sessionMs);
    if (longer === undefined) return false;
    this.#current = longer;
    return true;
  }
}
