import type { EventSink, SendOptions } from './event-sink.js';
import type { NewEvent } from './new-event.js';
import { readyEvent } from './ready-event.js';

/** Emits events through a sink: `new Producer(new HttpSink({ baseUrl, apiKey }))`. */
export class Producer {
  constructor(private readonly sink: EventSink) {}

  /**
   * Emits events, in the order given. Resolves with their ids once the brokers have acknowledged them.
   * @throws InvalidEventError before anything is sent
   * @throws any error of the sink; some events may be accepted then. The `detail` of an ApiError says how many, and its
   *   `problems` name events by their place in the list. To be able to emit the same events again, set their ids.
   * @throws the signal's reason once it is aborted; the events may have arrived, so set ids to emit them again
   */
  async emit(events: NewEvent | readonly NewEvent[], options?: SendOptions): Promise<readonly string[]> {
    const ready = (isList(events) ? events : [events]).map((event, index) => readyEvent(event, index));
    await this.sink.send(ready, options);
    return ready.map(({ id }) => id);
  }

  /**
   * Waits for the requests under way, and closes the sink. An `HttpSink` makes no more retries: `emit` rejects if its
   * request fails. Later calls of `emit` reject. A sink without `close` stays open.
   */
  async close(): Promise<void> {
    await this.sink.close?.();
  }
}

/** `Array.isArray` does not narrow readonly arrays. */
function isList(events: NewEvent | readonly NewEvent[]): events is readonly NewEvent[] {
  return Array.isArray(events);
}
