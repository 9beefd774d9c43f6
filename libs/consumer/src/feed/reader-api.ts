import { setTimeout as delay } from 'node:timers/promises';
import {
  ApiClient,
  backOffMs,
  isStray,
  outageOf,
  randomFraction,
  safely,
  type ApiAnswer,
  type ApiClientOptions,
  type ApiError,
  type ApiRequest,
} from '../../../api-client/src/index.js';

/**
 * Calls Gapless for readers that run for weeks. The first answer shows whether the URL is right. Once Gapless has
 * answered, an answer of something else, such as a proxy, is an outage, and the request is retried.
 */
export class ReaderApi {
  readonly #api: ApiClient;
  readonly #onRetry: (error: ApiError) => void;
  #hasAnswered = false;

  constructor(options: Omit<ApiClientOptions, 'retries'>) {
    this.#api = new ApiClient({ ...options, retries: Number.POSITIVE_INFINITY });
    this.#onRetry = safely('onRetry', options.onRetry);
  }

  /**
   * Sends the request and returns what `read` finds in the answer.
   * @param read throws an ApiError `refused` with the code `unknown` for an answer that Gapless does not give
   * @throws ApiError
   * @throws the signal's reason once it is aborted
   */
  async request<T>(request: ApiRequest, read: (answer: ApiAnswer) => T): Promise<T> {
    const { retries = Number.POSITIVE_INFINITY, signal } = request;
    for (let failures = 1; ; failures++) {
      try {
        const result = read(await this.#api.request(request));
        this.#hasAnswered = true;
        return result;
      } catch (error) {
        if (!this.#hasAnswered || !isStray(error)) throw error;
        const outage = outageOf(error);
        if (failures > retries) throw outage;
        this.#onRetry(outage);
        await delay(backOffMs(failures, randomFraction()), undefined, signal === undefined ? {} : { signal });
      }
    }
  }
}
