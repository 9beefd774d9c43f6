import { ApiClient, type ApiClientOptions } from '../../../api-client/src/index.js';
import { batchesOf, type BatchLimits } from '../events/batches.js';
import type { EventSink } from '../events/event-sink.js';
import type { ReadyEvent } from '../events/ready-event.js';

/** `apiKey` needs `events:write`: a service key for all organizations, or one organization's own. */
export type HttpSinkOptions = ApiClientOptions;

/** The limit of the ingest operation, without the frame of the list. */
const REQUEST: BatchLimits = { events: 500, bytes: 4 * 1024 * 1024 - 64 };

/**
 * Sends events over HTTP, 500 to a request. It retries requests without a response, with the same ids, so that no event
 * is repeated.
 */
export class HttpSink implements EventSink {
  readonly #api: ApiClient;

  constructor(options: HttpSinkOptions) {
    this.#api = new ApiClient(options);
  }

  async send(events: readonly ReadyEvent[]): Promise<void> {
    // One after the other: the order of an organization's events is the order of the requests.
    for (const batch of batchesOf(events, REQUEST)) {
      const body = `{"events":[${batch.map(({ json }) => json).join(',')}]}`;
      await this.#api.request({ method: 'POST', path: '/internal/events', body });
    }
  }
}
