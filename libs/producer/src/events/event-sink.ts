import type { ReadyEvent } from './ready-event.js';

/** Takes events to the inbox, by HTTP or directly. */
export interface EventSink {
  /**
   * Sends events. Resolves once the brokers have acknowledged all; each organization's events keep their order. Sending
   * an event again is harmless, because its id is known.
   * @throws ApiError by HTTP: `refused` when an event or the key is not accepted
   * @throws Error when the service or the brokers are unavailable
   */
  send(events: readonly ReadyEvent[]): Promise<void>;
  /** Waits for the requests under way, and closes the connections. Later calls of `send` reject. */
  close?(): Promise<void>;
}
