import type { ReadyEvent } from './ready-event.js';

/** How long to try. A sink may ignore both, as `KafkaSink` does. */
export interface SendOptions {
  /** Ends the request under way. Its events may have arrived. */
  readonly signal?: AbortSignal | undefined;
  /** How often to retry while the service is unavailable, in place of what the sink does by default. */
  readonly retries?: number;
}

/** Takes events to the inbox, by HTTP or directly. */
export interface EventSink {
  /**
   * Whether Gapless recognizes an event that this sink sends again for 15 minutes only. Then it can become a second
   * event. False by default: Gapless knows the id for as long as the feed keeps the event.
   */
  readonly repeatsExpire?: boolean;
  /**
   * Sends events. Resolves once the brokers have acknowledged all; each organization's events keep their order. For how
   * long an event that is sent again stays one event, `repeatsExpire` says.
   * @throws ApiError by HTTP: `refused` when an event or the key is not accepted
   * @throws Error when the service or the brokers are unavailable
   * @throws the signal's reason once it is aborted
   */
  send(events: readonly ReadyEvent[], options?: SendOptions): Promise<void>;
  /**
   * Waits for the requests under way, without long waits for retries, and closes the connections. Later calls of `send`
   * reject.
   */
  close?(): Promise<void>;
}
