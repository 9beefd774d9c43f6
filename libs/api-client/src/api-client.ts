import { setTimeout as delay } from 'node:timers/promises';
import axios, { type AxiosInstance, type AxiosResponse } from 'axios';
import { ApiError, apiErrorOf } from './api-error.js';
import { backOffMs, randomFraction } from './back-off.js';
import { retryAfterMs } from './retry-after.js';

export interface ApiClientOptions {
  /** Where Gapless is, without `/api/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** How long an answer may take, milliseconds; 10 s if not given. */
  readonly timeoutMs?: number;
  /** How often a request is tried again when the service is not to be had; 5 times if not given. */
  readonly retries?: number;
  /** An axios to use instead of a plain one: for proxies, certificates, interceptors. */
  readonly http?: AxiosInstance;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  /** The path after `/api/v1`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number>>;
  /** JSON text. */
  readonly body?: string;
  /** How long the service was asked to wait before it answers, milliseconds. */
  readonly waitMs?: number;
  /** Instead of the client's. */
  readonly retries?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface ApiAnswer {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

type Outcome =
  | { readonly kind: 'answered'; readonly answer: ApiAnswer }
  | { readonly kind: 'failed'; readonly error: ApiError; readonly retryAfterMs: number };

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_RETRIES = 5;

/** Speaks to the service's HTTP interface, with back-off where it is not to be had. */
export class ApiClient {
  readonly #http: AxiosInstance;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #url: string;
  readonly #apiKey: string;

  constructor(options: ApiClientOptions) {
    this.#http = options.http ?? axios.create();
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#retries = options.retries ?? DEFAULT_RETRIES;
    this.#url = `${options.baseUrl.replace(/\/+$/, '')}/api/v1`;
    this.#apiKey = options.apiKey;
  }

  /**
   * Resolves with a 2xx answer. Waits as long as `Retry-After` says, or doubling from half a second, before each
   * further try.
   * @throws ApiError
   * @throws the signal's reason once it is aborted
   */
  async request(request: ApiRequest): Promise<ApiAnswer> {
    const retries = request.retries ?? this.#retries;
    for (let failures = 1; ; failures++) {
      request.signal?.throwIfAborted();
      const outcome = await this.#attempt(request);
      if (outcome.kind === 'answered') return outcome.answer;
      request.signal?.throwIfAborted();
      if (outcome.error.kind === 'refused' || failures > retries) throw outcome.error;
      const waitMs = Math.max(outcome.retryAfterMs, backOffMs(failures, randomFraction()));
      await delay(waitMs, undefined, request.signal === undefined ? {} : { signal: request.signal });
    }
  }

  async #attempt(request: ApiRequest): Promise<Outcome> {
    let answer: AxiosResponse<unknown>;
    try {
      answer = await this.#send(request);
    } catch (error) {
      const code = axios.isAxiosError(error) ? (error.code ?? 'unknown') : 'unknown';
      const detail = error instanceof Error ? error.message : String(error);
      return {
        kind: 'failed',
        error: new ApiError('unavailable', undefined, code, detail, [], error),
        retryAfterMs: 0,
      };
    }
    const { status, headers, data } = answer;
    if (status >= 200 && status < 300) return { kind: 'answered', answer: { headers, body: data } };
    return {
      kind: 'failed',
      error: apiErrorOf(status, data),
      retryAfterMs: retryAfterMs(headers['retry-after'], headers['date']) ?? 0,
    };
  }

  #send(request: ApiRequest): Promise<AxiosResponse<unknown>> {
    return this.#http.request<unknown>({
      method: request.method,
      url: this.#url + request.path,
      headers: {
        'X-Api-Key': this.#apiKey,
        ...(request.body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(request.query === undefined ? {} : { params: request.query }),
      ...(request.body === undefined ? {} : { data: request.body }),
      ...(request.signal === undefined ? {} : { signal: request.signal }),
      timeout: this.#timeoutMs + (request.waitMs ?? 0),
      // A redirect would carry the key to where it was not meant to go.
      maxRedirects: 0,
      validateStatus: () => true,
    });
  }
}
