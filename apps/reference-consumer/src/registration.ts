import axios, { type AxiosInstance, type AxiosResponse } from 'axios';
import type { Credentials } from './credentials.js';
import { ConsumerError } from './consumer-error.js';

const TIMEOUT_MS = 10_000;

/** An endpoint that was registered for as long as this program runs. */
export interface RegisteredEndpoint {
  readonly id: string;
  readonly secret: string;
}

/** The two management operations that this consumer needs (contract 5.1). */
export class Registration {
  readonly #http: AxiosInstance;

  constructor(private readonly credentials: Credentials) {
    this.#http = axios.create({
      baseURL: `${credentials.base_url}/api/v1`,
      headers: { 'X-Api-Key': credentials.api_key },
      timeout: TIMEOUT_MS,
      // Gapless is on this machine, so proxies of the environment do not apply.
      proxy: false,
      validateStatus: () => true,
    });
  }

  /** @throws ConsumerError with the reason that Gapless gives */
  async register(url: string, events: readonly string[]): Promise<RegisteredEndpoint> {
    const body = { url, events, name: 'npm run receiver' };
    const answer = await this.#reach(() => this.#http.post<{ data: RegisteredEndpoint }>('/external/webhooks', body));
    if (answer.status !== 201) throw new ConsumerError(`the endpoint was not registered: ${problemText(answer)}`);
    const { id, secret } = answer.data.data;
    return { id, secret };
  }

  /** @throws ConsumerError when the endpoint still exists */
  async remove(id: string): Promise<void> {
    const answer = await this.#reach(() => this.#http.delete(`/external/webhooks/${id}`));
    if (answer.status !== 204 && answer.status !== 404) throw new ConsumerError(problemText(answer));
  }

  async #reach<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      const reason = axios.isAxiosError(error) ? (error.code ?? error.message) : String(error);
      throw new ConsumerError(
        `Gapless does not answer at ${this.credentials.base_url} (${reason}): start it first (npm start)`,
      );
    }
  }
}

/** Returns `detail` of the problem (RFC 9457), and each invalid part of the request. */
function problemText({ status, data }: AxiosResponse): string {
  const problem = data as {
    readonly detail?: string;
    readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
  } | null;
  const places = (problem?.errors ?? [])
    // A single problem is already in the detail.
    .filter((error) => problem?.detail?.includes(error.detail) !== true)
    .map(({ pointer, detail }) => `${pointer} ${detail}`);
  return [`${status}`, problem?.detail ?? '', ...places].filter((part) => part !== '').join('; ');
}
