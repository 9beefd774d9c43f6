import type { ReadyEvent } from './ready-event.js';

/** How to send events that are sent again anyway. A sink may ignore both. */
export interface SendOptions {
  /** Ends the request under way. Its events may have arrived. */
  readonly signal?: AbortSignal | undefined;
  /** How often to retry while the service is unavailable, in place of what the sink does by default. */
  readonly retries?: number;
}

/** Takes events to the inbox, by HTTP or directly. */
export interface EventSink {
  /**
   * Sends events. Resolves once the brokers have acknowledged all; each organization's events keep their order. Sending
   * an event again is harmless, because its id is known.
   * @throws ApiError by HTTP: `refused` when an event or the key is not accepted
   * @throws Error when the service or the brokers are unavailable
   * @throws the signal's reason once it is aborted
   */
  send(events: readonly ReadyEvent[], options?: SendOptions): Promise<void>;
  /** Waits for the events under way, with their retries, and closes the connections. Later calls of `send` reject. */
  close?(): Promise<void>;
}
