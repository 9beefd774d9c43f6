import type { Clock, DatedTarget, DeliveryRef, Destination } from '#libs/domain';
import type { Config, HealthBoard, Logger } from '#libs/runtime';
import type { Metrics } from '#libs/telemetry';

/** What a destination may use of the process that pushes. */
export interface DestinationContext {
  readonly config: Config;
  readonly clock: Clock;
  readonly health: HealthBoard;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Whether a url may be registered (contract 5.2). */
export type UrlVerdict =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly code: 'url_invalid' | 'url_not_https' | 'url_private_network' | 'url_unresolvable';
      /** In words for the endpoint's owner. */
      readonly detail: string;
    };

/** A delivery, with what is known of its attempts, in the order in which they were made. */
export interface AttemptedDelivery {
  readonly delivery: DeliveryRef;
  readonly attemptsLog: readonly {
    readonly run: number;
    readonly attempt: number;
    readonly at: Date;
    /** How far `at` is ahead of the clock that stamped the signatures, milliseconds. */
    readonly leadMs: number;
  }[];
  /** The stored JSON text; `null` once retention has removed it. */
  readonly envelope: string | null;
}

/** An attempt as it was sent; null stands for what is not known any more. */
export interface SentRequest {
  readonly method: string;
  readonly url: string | null;
  /** Why there is no url. */
  readonly url_note: string | null;
  readonly headers: Readonly<Record<string, string | null>>;
  /** Why there are no signatures. */
  readonly signature_note: string | null;
  readonly body: string;
}

/** One kind of destination. Everything about it is in a folder of its own. */
export interface DestinationKind {
  /** What the urls of such endpoints begin with, such as `https:`. */
  readonly schemes: readonly string[];
  /** @returns what decides whether such a url may be registered */
  urlCheck(config: Config): (url: string) => Promise<UrlVerdict>;
  open(context: DestinationContext): Destination;
  /**
   * Returns the latest attempt as it was sent. It is not stored: it follows from what is stored.
   * @param showSignatures whether the caller may see them: a genuine signature lets its holder pose as Gapless
   * @returns null before the first attempt, and once retention has removed the bytes
   */
  sentRequest(delivery: AttemptedDelivery, target: DatedTarget, showSignatures: boolean): SentRequest | null;
}
