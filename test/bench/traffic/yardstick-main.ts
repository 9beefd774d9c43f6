import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { systemClock } from '#libs/domain';
import { serviceSignature } from '#libs/webhook-signature';
import { eventJson } from './event-bodies.js';
import { monotonicMs } from './monotonic-clock.js';
import { serveOperations } from './operations.js';
import { post } from './post.js';

/** Where to the bare loop posts. */
export interface YardstickOrder {
  readonly url: string;
  readonly forMs: number;
  /** How many requests are on their way at the same time. */
  readonly connections: number;
  /** Of each body. */
  readonly bytes: number;
}

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

const operations = {
  /** Signs the body and posts it, again and again: the least that a push can cost. @returns requests per second */
  async run({ url, forMs, connections, bytes }: YardstickOrder): Promise<number> {
    const { origin, pathname } = new URL(url);
    const pool = new Pool(origin, { connections, pipelining: 1 });
    const body = Buffer.from(eventJson({ event: 'ticket.created', bytes }));
    const run = randomUUID();
    let sent = 0;
    const began = monotonicMs();
    const until = began + forMs;
    const sendOn = async () => {
      while (monotonicMs() < until) {
        const timestampSeconds = Math.floor(systemClock.now() / 1_000);
        const headers = {
          'content-type': 'application/json',
          'x-service-event-id': `${run}-${sent++}`,
          'x-service-signature': serviceSignature(SECRET, timestampSeconds, body),
        };
        const { statusCode } = await post(pool, pathname, headers, body);
        if (statusCode !== 200) throw new Error(`the bare loop was answered ${statusCode}`);
      }
    };
    try {
      await Promise.all(Array.from({ length: connections }, sendOn));
      return (sent * 1_000) / (monotonicMs() - began);
    } finally {
      await pool.destroy();
    }
  },
};

export type YardstickOperations = typeof operations;

serveOperations(operations);
