import type { Clock, DatedTarget, DeliveryRef, Destination } from '#libs/domain';
import type { Config, HealthBoard, Logger } from '#libs/runtime';
import type { Metrics } from '#libs/telemetry';

/** The parts of the dispatching process that a destination may use. */
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
      /** The reason, in words for the endpoint's owner. */
      readonly detail: string;
    };

/** A delivery and its known attempts, oldest first. */
export interface AttemptedDelivery {
  readonly delivery: DeliveryRef;
  readonly attemptsLog: readonly {
    readonly run: number;
    readonly attempt: number;
    readonly at: Date;
    /** How far `at` is ahead of the clock that stamped the signatures, milliseconds. */
    readonly leadMs: number;
    /** The seqs of the first and last event of the request, if it was a batch. */
    readonly batch: readonly [first: number, last: number] | null;
  }[];
  /** The stored JSON text; `null` once retention has removed it. */
  readonly envelope: string | null;
}

/** A request as it was sent. Members that are no longer known are null. */
export interface SentRequest {
  readonly method: string;
  readonly url: string | null;
  /** Why `url` is null. */
  readonly url_note: string | null;
  readonly headers: Readonly<Record<string, string | null>>;
  /** Why the signatures are null. */
  readonly signature_note: string | null;
  readonly body: string;
}

/** One kind of destination. Each kind has its own folder. */
export interface DestinationKind {
  /** The schemes of its urls, such as `https:`. */
  readonly schemes: readonly string[];
  /** @returns the function that decides whether a url may be registered */
  urlCheck(config: Config): (url: string) => Promise<UrlVerdict>;
  open(context: DestinationContext): Destination;
  /**
   * Rebuilds the request of the latest attempt from stored data; the request itself is not stored.
   * @param showSignatures whether the caller may see signatures: a valid one lets its holder pose as Gapless
   * @returns null before the first attempt, and once retention has removed the bytes
   */
  sentRequest(delivery: AttemptedDelivery, target: DatedTarget, showSignatures: boolean): SentRequest | null;
}
