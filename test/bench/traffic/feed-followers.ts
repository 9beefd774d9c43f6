import type { Pool } from 'undici';
import { monotonicMs } from './monotonic-clock.js';

/** What a reader of the feed has seen, in order. */
export class Sightings {
  /** When each event was seen, by its id; by `monotonicMs`. */
  readonly seenAt = new Map<string, number>();
  #lastSeq = 0;

  /** @throws when the event is not the next one of the org */
  see({ id, seq }: { readonly id: string; readonly seq: number }): void {
    if (seq !== this.#lastSeq + 1) throw new Error(`a reader saw seq ${seq} behind ${this.#lastSeq}`);
    this.#lastSeq = seq;
    this.seenAt.set(id, monotonicMs());
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }
}

/** Follows an org's feed from its beginning until the signal is aborted. */
export type Follow = (pool: Pool, apiKey: string, sightings: Sightings, signal: AbortSignal) => Promise<void>;

const FEED_PATH = '/api/v1/external/events';
const LONG_POLL_SECONDS = 25;

/** By long poll (contract 5.4): each request is held until there is an event. */
export const followByLongPoll: Follow = async (pool, apiKey, sightings, signal) => {
  while (!signal.aborted) {
    const answer = await pool.request({
      path: `${FEED_PATH}?limit=1000&since=${sightings.lastSeq}&wait=${LONG_POLL_SECONDS}`,
      method: 'GET',
      headers: { 'x-api-key': apiKey },
      signal,
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`a long poll was answered ${answer.statusCode}: ${text}`);
    const { data } = JSON.parse(text) as { data: readonly { id: string; seq: number }[] };
    for (const envelope of data) sightings.see(envelope);
  }
};

/** As server-sent events (contract 5.5). */
export const followByStream: Follow = async (pool, apiKey, sightings, signal) => {
  const answer = await pool.request({
    path: `${FEED_PATH}?since=0`,
    method: 'GET',
    headers: { 'x-api-key': apiKey, accept: 'text/event-stream' },
    bodyTimeout: 0,
    signal,
  });
  const type = String(answer.headers['content-type']);
  if (answer.statusCode !== 200 || !type.startsWith('text/event-stream')) {
    throw new Error(`a stream was answered ${answer.statusCode} ${type}: ${await answer.body.text()}`);
  }
  const decoder = new TextDecoder();
  let unread = '';
  for await (const chunk of answer.body) {
    unread += decoder.decode(chunk as Buffer, { stream: true });
    const messages = unread.split('\n\n');
    unread = messages.pop() ?? '';
    for (const message of messages) {
      const data = message.split('\n').find((line) => line.startsWith('data: '));
      if (data !== undefined) sightings.see(JSON.parse(data.slice('data: '.length)) as { id: string; seq: number });
    }
  }
  if (!signal.aborted) throw new Error('a stream ended by itself');
};
