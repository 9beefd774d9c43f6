import { ApiClient, ApiError, submitEvents, type ApiClientOptions } from '../../../api-client/src/index.js';
import { batchesOf, type BatchLimits } from '../events/batches.js';
import type { EventSink, SendOptions } from '../events/event-sink.js';
import type { ReadyEvent } from '../events/ready-event.js';

/** `apiKey` needs `events:write`: a service key for all organizations, or the key of one organization. */
export interface HttpSinkOptions extends ApiClientOptions {
  /** How long to wait for an answer, milliseconds; 20 s by default. */
  readonly timeoutMs?: number;
}

/** A large request may take 15 s while Gapless is busy (contract 9). */
const DEFAULT_TIMEOUT_MS = 20_000;

/** The limits of the ingest operation, less 64 bytes for the frame of the list. */
export const HTTP_REQUEST: BatchLimits = { events: 500, bytes: 4 * 1024 * 1024 - 64 };

/**
 * Sends events over HTTP, up to 500 per request. It retries requests without a response from Gapless, with the same ids,
 * so that no event is repeated.
 */
export class HttpSink implements EventSink {
  readonly #api: ApiClient;
  readonly #underWay = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: HttpSinkOptions) {
    this.#api = new ApiClient({ ...options, timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS });
  }

  send(events: readonly ReadyEvent[], options: SendOptions = {}): Promise<void> {
    if (this.#closing.signal.aborted) return Promise.reject(new Error('the HttpSink is closed'));
    const sent: Promise<void> = this.#send(events, options).finally(() => this.#underWay.delete(sent));
    this.#underWay.add(sent);
    return sent;
  }

  /**
   * Waits for the requests under way. There are no more retries, which may take an hour: events whose request fails, or
   * waits to be tried again, reject with its error. Later calls of `send` reject.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#underWay);
  }

  async #send(events: readonly ReadyEvent[], options: SendOptions): Promise<void> {
    // One after the other, because the order of the requests is the order of an organization's events.
    const request = { ...options, retriesUntil: this.#closing.signal };
    let accepted = 0;
    for (const batch of batchesOf(events, HTTP_REQUEST)) {
      try {
        await submitEvents(this.#api, batch, request);
      } catch (error) {
        if (accepted === 0 || !(error instanceof ApiError)) throw error;
        throw afterAccepted(error, accepted);
      }
      accepted += batch.length;
    }
  }
}

/** Returns the error of a request with the places that its events have in the whole list. */
function afterAccepted(error: ApiError, accepted: number): ApiError {
  const { kind, status, code, retryAfterMs, cause } = error;
  const inList = (text: string): string =>
    text.replace(/^#\/events\/(\d+)/, (_, index: string) => `#/events/${Number(index) + accepted}`);
  const detail = `${inList(error.detail)} (the first ${accepted} events are accepted)`;
  const problems = error.problems.map((problem) => ({ ...problem, pointer: inList(problem.pointer) }));
  return new ApiError(kind, status, code, detail, problems, { retryAfterMs, cause });
}
