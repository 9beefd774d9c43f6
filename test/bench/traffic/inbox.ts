import type { ServerResponse } from 'node:http';
import { monotonicMs } from './monotonic-clock.js';

/** How an endpoint answers what it is pushed. */
export type Manner =
  { readonly kind: 'at_once' } | { readonly kind: 'after'; readonly ms: number } | { readonly kind: 'never' };

/** What one endpoint has received. */
export class Inbox {
  /** When each event came whole for the first time, by its id. */
  readonly receivedAt = new Map<string, number>();
  /** Pushes of events that had come before. */
  repeats = 0;

  constructor(private readonly manner: Manner) {}

  receive(eventId: string, response: ServerResponse): void {
    if (this.receivedAt.has(eventId)) this.repeats++;
    else this.receivedAt.set(eventId, monotonicMs());
    switch (this.manner.kind) {
      case 'at_once':
        response.end();
        break;
      case 'after':
        setTimeout(() => response.end(), this.manner.ms).unref();
        break;
      case 'never':
    }
  }
}
