import { setTimeout as delay } from 'node:timers/promises';
import axios, { type Axios, type AxiosInstance, type AxiosResponse } from 'axios';
import { ApiError, apiErrorOf, outageOf } from './api-error.js';
import { backOffMs, randomFraction } from './back-off.js';
import { apiUrlOf } from './api-url.js';
import { plainHttp } from './plain-http.js';
import { retryAfterMs } from './retry-after.js';
import { safely } from './safely.js';

export interface ApiClientOptions {
  /** The service's base URL, with or without `/api/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** How long to wait for an answer, milliseconds; 10 s by default. */
  readonly timeoutMs?: number;
  /** How often to retry a request while the service is unavailable; 5 times by default. */
  readonly retries?: number;
  /** Called before each retry with the failure, so that a service that is away does not go unnoticed. */
  readonly onRetry?: (error: ApiError) => void;
  /**
   * An axios instance to use, for proxies, certificates or interceptors. By default, a plain one, which takes nothing
   * from `axios.defaults`.
   */
  readonly http?: AxiosInstance;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** The path after `/api/v1`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number>>;
  /** The body, as JSON text. */
  readonly body?: string;
  /** How long the request asks the service to wait for events before it answers, milliseconds. */
  readonly waitMs?: number;
  /** Returns the error of a 2xx answer that does not count. If it is `unavailable`, the request is retried. */
  readonly check?: (answer: ApiAnswer) => ApiError | undefined;
  /** Whether a refusal is an outage, so that the request is retried. By default, none is. */
  readonly isOutage?: (refusal: ApiError) => boolean;
  /** Overrides the client's `retries` for this request. */
  readonly retries?: number;
  readonly signal?: AbortSignal | undefined;
  /** Once it is aborted, there are no more retries: a request that fails ends with its error. */
  readonly retriesUntil?: AbortSignal | undefined;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

type Outcome =
  { readonly kind: 'answered'; readonly answer: ApiAnswer } | { readonly kind: 'failed'; readonly error: ApiError };

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_RETRIES = 5;

/** Calls the service's HTTP interface, and retries with back-off while the service is unavailable. */
export class ApiClient {
  readonly #http: Axios;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #url: string;
  readonly #apiKey: string;
  readonly #onRetry: (error: ApiError) => void;

  /** @throws TypeError for a base URL that is no http or https URL, and for an API key that is none */
  constructor(options: ApiClientOptions) {
    this.#http = options.http ?? plainHttp();
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#retries = options.retries ?? DEFAULT_RETRIES;
    this.#url = apiUrlOf(options.baseUrl);
    this.#apiKey = checkedKey(options.apiKey);
    this.#onRetry = safely('onRetry', options.onRetry);
  }

  /**
   * Sends the request and resolves with the 2xx answer. Before each retry it waits as long as `Retry-After` says.
   * Without that header the wait starts at half a second and doubles.
   * @throws ApiError
   * @throws the signal's reason once it is aborted
   */
  async request(request: ApiRequest): Promise<ApiAnswer> {
    const retries = request.retries ?? this.#retries;
    request.signal?.throwIfAborted();
    for (let failures = 1; ; failures++) {
      const outcome = await this.#attempt(request);
      if (outcome.kind === 'answered') return outcome.answer;
      request.signal?.throwIfAborted();
      const { error } = outcome;
      if (error.kind === 'refused' || failures > retries || isAborted(request.retriesUntil)) throw error;
      this.#onRetry(error);
      await pause(Math.max(error.retryAfterMs ?? 0, backOffMs(failures, randomFraction())), request);
      request.signal?.throwIfAborted();
      if (isAborted(request.retriesUntil)) throw error;
    }
  }

  async #attempt(request: ApiRequest): Promise<Outcome> {
    let answer: AxiosResponse<unknown>;
    try {
      answer = await this.#send(request);
    } catch (error) {
      const code = axios.isAxiosError(error) ? (error.code ?? 'unknown') : 'unknown';
      const detail = error instanceof Error ? error.message : String(error);
      const cause = causeOf(error);
      return { kind: 'failed', error: new ApiError('unavailable', undefined, code, detail, [], { cause }) };
    }
    const { status, headers, data } = answer;
    if (status >= 200 && status < 300) {
      const received: ApiAnswer = { status, headers, body: data };
      const error = request.check?.(received);
      return error === undefined ? { kind: 'answered', answer: received } : { kind: 'failed', error };
    }
    const waitMs = retryAfterMs(headers['retry-after'], headers['date']);
    const error = apiErrorOf(status, data, waitMs);
    const isOutage = error.kind === 'refused' && request.isOutage?.(error) === true;
    return { kind: 'failed', error: isOutage ? outageOf(error) : error };
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
      // A redirect would send the API key to another server.
      maxRedirects: 0,
      validateStatus: () => true,
    });
  }
}

/** A function, because the compiler would assume that `aborted` stays the same across an `await`. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

/** Waits, until one of the signals at most. */
async function pause(ms: number, { signal, retriesUntil }: ApiRequest): Promise<void> {
  const signals = [signal, retriesUntil].filter((given) => given !== undefined);
  await delay(ms, undefined, { signal: AbortSignal.any(signals) }).catch(() => undefined);
}

/** Returns the error of the system. An error of axios holds the request, with the API key and the body. */
function causeOf(error: unknown): unknown {
  return axios.isAxiosError(error) ? causeOf(error.cause) : error;
}

function checkedKey(apiKey: unknown): string {
  if (typeof apiKey !== 'string' || apiKey === '') throw new TypeError('apiKey is missing or empty');
  // No request can carry such a header, so retries would never end.
  if (!/^[!-~]+$/.test(apiKey)) throw new TypeError('apiKey has a space, a line break or a letter that no API key has');
  return apiKey;
}
