import { bearerToken } from './client.js';
import type { EventStream } from './event-stream.js';
import { FetchedEventSource } from './fetched-event-source.js';

/** Opens a stream of the api, in the name of the session. The browser's own `EventSource` cannot send a token. */
export function openEventStream(path: string): EventStream {
  const token = bearerToken();
  return token === null ? new EventSource(path) : new FetchedEventSource(path, token);
}
