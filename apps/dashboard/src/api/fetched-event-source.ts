import { EventStreamParser } from './event-stream-parser.js';
import type { EventStream } from './event-stream.js';

/**
 * An `EventSource` with an `Authorization` header. It does not reconnect by itself: after any break it is closed, and
 * calls `onerror`.
 */
export class FetchedEventSource implements EventStream {
  readyState: number = EventSource.CONNECTING;
  onopen: ((event: Event) => void) | null = null;
  onerror: ((event: Event) => void) | null = null;
  readonly #listeners = new Map<string, (message: MessageEvent<string>) => void>();
  readonly #aborted = new AbortController();

  constructor(path: string, token: string) {
    void this.#run(path, token);
  }

  addEventListener(type: string, listener: (message: MessageEvent<string>) => void): void {
    this.#listeners.set(type, listener);
  }

  close(): void {
    this.readyState = EventSource.CLOSED;
    this.#aborted.abort();
  }

  async #run(path: string, token: string): Promise<void> {
    try {
      const response = await fetch(path, {
        headers: { accept: 'text/event-stream', authorization: `Bearer ${token}` },
        credentials: 'omit',
        cache: 'no-store',
        signal: this.#aborted.signal,
      });
      if (response.ok && response.body !== null) await this.#read(response.body);
    } catch {
      // A break is reported below, like the end of the stream.
    }
    if (this.#aborted.signal.aborted) return;
    this.readyState = EventSource.CLOSED;
    this.onerror?.(new Event('error'));
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    this.readyState = EventSource.OPEN;
    this.onopen?.(new Event('open'));
    const parser = new EventStreamParser(({ type, data, lastEventId }) => {
      this.#listeners.get(type)?.(new MessageEvent(type, { data, lastEventId }));
    });
    const decoder = new TextDecoder();
    const reader = body.getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      parser.take(decoder.decode(piece.value, { stream: true }));
    }
  }
}
