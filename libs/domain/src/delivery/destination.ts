import type { AttemptOutcome, DueAttempt } from './attempt.js';

/** The current url and secrets of an endpoint. */
export interface Target {
  readonly url: string;
  readonly secret: string;
  /** The secret before it, while both sign. */
  readonly previousSecret: string | null;
  readonly activation: number;
}

/** The url and secrets of an endpoint, and since when they apply: `null` for since its creation. */
export interface DatedTarget {
  readonly url: string;
  readonly urlChangedAt: Date | null;
  readonly secret: string;
  readonly secretChangedAt: Date | null;
  /** The secret before it; `null` once it no longer signs. */
  readonly previousSecret: string | null;
  /** Until when the previous secret signs or signed; `null` if it stopped at once. */
  readonly previousSecretUntil: Date | null;
}

/** Sends deliveries to the urls of endpoints. */
export interface Destination {
  /** Makes one attempt. Never rejects: an error is part of the outcome. @param signal ends the attempt at once */
  attempt(due: DueAttempt, target: Target, signal: AbortSignal): Promise<AttemptOutcome>;
  /** Takes no more attempts, lets those under way finish, and closes all connections. */
  close(): Promise<void>;
}
