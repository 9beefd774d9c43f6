import kafkajs from 'kafkajs';

const TIMEOUT_MS = 10_000;
/** Fetch the next token when this share of the current one's life remains, because connections can open at any time. */
const SPARE = 0.2;
/** The assumed life of a token, in seconds, if the server does not report it. */
const ASSUMED_LIFE_SECONDS = 60;

export interface OAuthClient {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string | null;
}

/** Gets access tokens by the client credentials grant (RFC 6749, section 4.4), and caches each while it is valid. */
export class OAuthTokens {
  #token: Promise<string> | null = null;
  #goodUntilMs = -Infinity;

  constructor(private readonly client: OAuthClient) {}

  /**
   * Returns a token. After a failure, the next call tries again.
   * @throws KafkaJSConnectionError if the server is away: callers wait and retry; Error if it refuses the client
   */
  async token(): Promise<string> {
    if (performance.now() >= this.#goodUntilMs) this.#token = null;
    this.#token ??= this.#ask();
    try {
      return await this.#token;
    } catch (error) {
      this.#token = null;
      throw error;
    }
  }

  async #ask(): Promise<string> {
    const { url, clientId, clientSecret, scope } = this.client;
    // Valid while the request is under way, so that connections that open together share the token.
    this.#goodUntilMs = Infinity;
    const credentials = [clientId, clientSecret].map(encodeURIComponent).join(':');
    const answer = await this.#post(credentials, scope);
    if (answer.status >= 500 || answer.status === 429) throw away(url, `it answered ${answer.status}`);
    if (!answer.ok) throw new Error(`${url} answered ${answer.status} to the request for a token`);
    const { access_token: token, expires_in: seconds = ASSUMED_LIFE_SECONDS } = (await answer.json()) as {
      readonly access_token?: unknown;
      readonly expires_in?: number;
    };
    if (typeof token !== 'string') throw new Error(`${url} answered without an access_token`);
    this.#goodUntilMs = performance.now() + seconds * 1_000 * (1 - SPARE);
    return token;
  }

  async #post(credentials: string, scope: string | null): Promise<Response> {
    const { url } = this.client;
    try {
      return await fetch(url, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
          accept: 'application/json',
        },
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          ...(scope === null ? {} : { scope }),
        }).toString(),
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
    } catch (error) {
      throw away(url, (error as Error).message);
    }
  }
}

/** Makes an error that kafkajs and every stage retry, as when a broker is away. */
function away(url: string, reason: string): Error {
  return new kafkajs.KafkaJSConnectionError(`no access token from ${url}: ${reason}`);
}
