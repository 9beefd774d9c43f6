import type { ReadyEvent } from './ready-event.js';

/** Where events go: the inbox, by HTTP or directly. */
export interface EventSink {
  /**
   * Resolves once the brokers have acknowledged all of the events; those of an organization keep their order. Sending
   * an event again is harmless: its id is known.
   * @throws ApiError by HTTP: `refused` when one of the events, or the key, is not accepted
   * @throws Error when the service or the brokers are not to be had
   */
  send(events: readonly ReadyEvent[]): Promise<void>;
}
