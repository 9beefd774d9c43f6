import { Pool } from 'undici';
import { systemClock } from '#libs/domain';
import { serviceSignature } from '#libs/webhook-signature';
import { post } from './post.js';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** Signs bodies and POSTs them to one endpoint: the least that a push can cost. */
export class SignedPosts {
  readonly #pool: Pool;
  readonly #path: string;

  /** @param connections how many requests are on their way at the same time, at most; the others wait */
  constructor(url: string, connections: number) {
    const { origin, pathname } = new URL(url);
    this.#pool = new Pool(origin, { connections, pipelining: 1 });
    this.#path = pathname;
  }

  /** @throws when it is not answered 200 */
  async post(eventId: string, body: Buffer): Promise<void> {
    const timestampSeconds = Math.floor(systemClock.now() / 1_000);
    const headers = {
      'content-type': 'application/json',
      'x-service-event-id': eventId,
      'x-service-signature': serviceSignature(SECRET, timestampSeconds, body),
    };
    const { statusCode } = await post(this.#pool, this.#path, headers, body);
    if (statusCode !== 200) throw new Error(`a signed POST was answered ${statusCode}`);
  }

  /** Drops what is on its way. */
  async end(): Promise<void> {
    await this.#pool.destroy();
  }
}
