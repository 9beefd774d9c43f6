import type { ServerResponse } from 'node:http';
import { monotonicMs } from './monotonic-clock.js';

/** How an endpoint answers what it is pushed. */
export type Manner =
  { readonly kind: 'at_once' } | { readonly kind: 'after'; readonly ms: number } | { readonly kind: 'never' };

/** An event of a batch, as far as an endpoint has to know it. */
export interface BatchedEvent {
  readonly id: string;
  readonly seq: number;
}

/** What one endpoint has received. */
export class Inbox {
  /** When each event came whole for the first time, by its id. */
  readonly receivedAt = new Map<string, number>();
  /** Pushes of events that had come before. */
  repeats = 0;
  /** Events of batches that came for the first time after a later one. */
  inversions = 0;
  /** How long it took from each answer until the next request was there, milliseconds; only while no other one waited. */
  readonly idleMs: number[] = [];
  #lastSeq = 0;
  #waiting = 0;
  #answeredAt: number | null = null;

  constructor(private readonly manner: Manner) {}

  receive(eventId: string, response: ServerResponse): void {
    this.#note(eventId, monotonicMs());
    this.#answer(response);
  }

  /** @param events read after the answer is on its way or scheduled, so that reading does not delay it */
  receiveBatch(events: () => readonly BatchedEvent[], response: ServerResponse): void {
    const at = monotonicMs();
    if (this.#answeredAt !== null && this.#waiting === 0) this.idleMs.push(at - this.#answeredAt);
    this.#answer(response);
    for (const { id, seq } of events()) {
      if (!this.receivedAt.has(id) && seq < this.#lastSeq) this.inversions++;
      this.#lastSeq = Math.max(this.#lastSeq, seq);
      this.#note(id, at);
    }
  }

  #note(eventId: string, at: number): void {
    if (this.receivedAt.has(eventId)) this.repeats++;
    else this.receivedAt.set(eventId, at);
  }

  #answer(response: ServerResponse): void {
    this.#waiting++;
    const answer = () => {
      this.#waiting--;
      this.#answeredAt = monotonicMs();
      response.end();
    };
    switch (this.manner.kind) {
      case 'at_once':
        answer();
        break;
      case 'after':
        setTimeout(answer, this.manner.ms).unref();
        break;
      case 'never':
    }
  }
}
