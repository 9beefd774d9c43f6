import { ApiError, type ApiAnswer, type ApiClientOptions, type ApiRequest } from '../../../api-client/src/index.js';
import { isEvent } from '../webhook/read-event.js';
import { NamedCursor } from './named-cursor.js';
import type { Feed, FeedPage, FeedQuery, FeedRequestOptions } from './feed.js';
import { ReaderApi } from './reader-api.js';

export type FeedClientOptions = Omit<ApiClientOptions, 'retries'>;

/**
 * Reads the pull feed over HTTP. The API key needs `events:read` only. Once Gapless has answered, an answer of something
 * else, such as a proxy, is retried like an outage.
 */
export class FeedClient implements Feed {
  readonly #api: ReaderApi;

  constructor(options: FeedClientOptions) {
    this.#api = new ReaderApi(options);
  }

  /**
   * Returns the cursor with this name, which Gapless stores for the organization. Each reader has its own.
   * @param name 1 to 64 letters, digits, dots, underscores and hyphens; begins with a letter or digit
   */
  cursor(name: string): NamedCursor {
    return new NamedCursor(this.#api, name);
  }

  async page(query: FeedQuery, options: FeedRequestOptions = {}): Promise<FeedPage> {
    const request: ApiRequest = {
      ...options,
      method: 'GET',
      path: '/external/events',
      query: {
        since: query.since,
        ...(query.limit === undefined ? {} : { limit: query.limit }),
        ...(query.event === undefined ? {} : { event: query.event }),
        ...(query.widgetId === undefined ? {} : { widget_id: query.widgetId }),
        ...(query.waitSeconds === undefined ? {} : { wait: query.waitSeconds }),
      },
      waitMs: (query.waitSeconds ?? 0) * 1_000,
    };
    return this.#api.request(request, readPage);
  }
}

/** @throws ApiError when the answer is not a page of the feed */
function readPage({ headers, body }: ApiAnswer): FeedPage {
  const { data, next_seq: nextSeq } = (body ?? {}) as { readonly data?: unknown; readonly next_seq?: unknown };
  if (!Array.isArray(data) || !data.every(isEvent) || (typeof nextSeq !== 'number' && nextSeq !== null)) {
    throw new ApiError('refused', 200, 'unknown', 'the response is not a page of the feed: check the base url');
  }
  return {
    events: data,
    nextSeq,
    oldestSeq: boundIn(headers, 'x-oldest-sequence'),
    headSeq: boundIn(headers, 'x-head-sequence'),
  };
}

/** Every page has its bounds. Without them, events that retention has removed would be missed without a word. */
function boundIn(headers: ApiAnswer['headers'], name: string): number {
  const text = headers[name];
  if (typeof text === 'string' && /^\d{1,16}$/.test(text)) return Number(text);
  throw new ApiError('refused', 200, 'unknown', `the response has no ${name}: does a proxy remove headers?`);
}
