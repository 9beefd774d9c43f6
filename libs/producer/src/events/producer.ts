import type { EventSink } from './event-sink.js';
import type { NewEvent } from './new-event.js';
import { readyEvent } from './ready-event.js';

/** Emits events by way of a sink: `new Producer(new HttpSink({ baseUrl, apiKey }))`. */
export class Producer {
  constructor(private readonly sink: EventSink) {}

  /**
   * Emits events, in the order given. Resolves with their ids once the brokers have acknowledged them.
   * @throws InvalidEventError before anything is sent
   * @throws what the sink throws; then some may have been accepted. To emit the same events again give them ids.
   */
  async emit(events: NewEvent | readonly NewEvent[]): Promise<readonly string[]> {
    const ready = (isList(events) ? events : [events]).map(readyEvent);
    await this.sink.send(ready);
    return ready.map(({ id }) => id);
  }
}

/** `Array.isArray` does not narrow readonly arrays. */
function isList(events: NewEvent | readonly NewEvent[]): events is readonly NewEvent[] {
  return Array.isArray(events);
}
