import { randomUUID } from 'node:crypto';
import { eventJson } from './event-bodies.js';
import { monotonicMs } from './monotonic-clock.js';
import { serveOperations } from './operations.js';
import { SignedPosts } from './signed-posts.js';

/** Where to the bare loop posts. */
export interface YardstickOrder {
  readonly url: string;
  readonly forMs: number;
  /** How many requests are on their way at the same time. */
  readonly connections: number;
  /** Of each body. */
  readonly bytes: number;
}

const operations = {
  /** Signs the body and posts it, again and again: the least that a push can cost. @returns requests per second */
  async run({ url, forMs, connections, bytes }: YardstickOrder): Promise<number> {
    const posts = new SignedPosts(url, connections);
    const body = Buffer.from(eventJson({ event: 'ticket.created', bytes }));
    const run = randomUUID();
    let sent = 0;
    const began = monotonicMs();
    const until = began + forMs;
    const sendOn = async () => {
      while (monotonicMs() < until) await posts.post(`${run}-${sent++}`, body);
    };
    try {
      await Promise.all(Array.from({ length: connections }, sendOn));
      return (sent * 1_000) / (monotonicMs() - began);
    } finally {
      await posts.end();
    }
  },
};

export type YardstickOperations = typeof operations;

serveOperations(operations);
