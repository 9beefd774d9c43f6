import type { AttemptOutcome, DueAttempt } from './attempt.js';

/** Where to and with what a delivery is pushed, as it is at this moment. */
export interface Target {
  readonly url: string;
  readonly secret: string;
  /** The one before it, while both sign. */
  readonly previousSecret: string | null;
  readonly activation: number;
}

/** Where to and with what an endpoint is pushed to, and since when: `null` for since its creation. */
export interface DatedTarget {
  readonly url: string;
  readonly urlChangedAt: Date | null;
  readonly secret: string;
  readonly secretChangedAt: Date | null;
  /** `null` once it does not sign any more. */
  readonly previousSecret: string | null;
  /** Until when it signs, too, or did; `null` if it stopped at once. */
  readonly previousSecretUntil: Date | null;
}

/** What the url of an endpoint leads to. */
export interface Destination {
  /** Makes one attempt. Never rejects: what goes wrong is the outcome. @param signal ends it at once */
  attempt(due: DueAttempt, target: Target, signal: AbortSignal): Promise<AttemptOutcome>;
  /** Takes no more attempts, lets those under way end, and closes all connections. */
  close(): Promise<void>;
}
