import type { KeyObject } from 'node:crypto';
import type { AttemptOutcome, DueAttempt } from './attempt.js';
import type { ClientCertificate } from './client-certificate.js';
import type { OAuth2Client, ShownHeaders } from './custom-headers.js';
import type { DeliverySettings } from './delivery-settings.js';

/** How an MCP subscription receives its events. */
export interface McpTarget {
  readonly subscriptionId: string;
  /** A position before which every event of the subscription is acknowledged or given up. */
  readonly cursor: string;
}

/** The current url and secrets of an endpoint. */
export interface Target {
  readonly url: string;
  readonly secret: string;
  /** The secret before it, while both sign. */
  readonly previousSecret: string | null;
  readonly activation: number;
  /** The settings that differ from the defaults; missing if none does. */
  readonly settings?: Partial<DeliverySettings>;
  /** Additional headers by name in lower case; missing if there are none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Missing unless pushes carry a token of this client. */
  readonly oauth2?: OAuth2Client;
  /** Missing unless pushes present one. */
  readonly certificate?: ClientCertificate;
  /** Missing unless the endpoint is an MCP subscription. */
  readonly mcp?: McpTarget;
  /** The installation's private Ed25519 keys that sign, the current one first; missing if the endpoint has none. */
  readonly signingKeys?: readonly KeyObject[];
}

/** The url and secrets of an endpoint, and since when they apply: `null` for since its creation. */
export interface DatedTarget {
  readonly url: string;
  readonly urlChangedAt: Date | null;
  /** `null` if it cannot be decrypted. */
  readonly secret: string | null;
  readonly secretChangedAt: Date | null;
  /** The secret before it; `null` once it no longer signs, or if it cannot be decrypted. */
  readonly previousSecret: string | null;
  /** Until when the previous secret signs or signed; `null` if it stopped at once. */
  readonly previousSecretUntil: Date | null;
  /** The settings that differ from the defaults. */
  readonly settings: Partial<DeliverySettings>;
  readonly shownHeaders: ShownHeaders | null;
  /** When the settings or the additional headers last changed. */
  readonly settingsChangedAt: Date | null;
}

/** Sends deliveries to the urls of endpoints. */
export interface Destination {
  /**
   * Waits while no attempt can be sent, whatever its endpoint. Never rejects.
   * @returns whether it had to wait. Look the target up again then
   * @param signal ends the wait at once
   */
  whenThere?(target: Target, signal: AbortSignal): Promise<boolean>;
  /**
   * Makes one attempt. Never rejects: an error is part of the outcome.
   * @returns `null` if no attempt could be sent meanwhile. It is not over then: look the target up again, and attempt it again
   * @param signal ends the attempt at once
   * @param onSent called when the request is on its way over an open connection
   */
  attempt(due: DueAttempt, target: Target, signal: AbortSignal, onSent?: () => void): Promise<AttemptOutcome | null>;
  /** Makes ready what the attempt needs, which may begin within a second, so that it then begins faster. */
  prepare?(due: DueAttempt, target: Target, nowMs: number): void;
  /** Takes no more attempts, lets those under way finish, and closes all connections. */
  close(): Promise<void>;
}
