import { Histogram } from '../figures/histogram.js';
import type { PublishedEvents } from './publishing.js';

/** What was published, and when; times are by `monotonicMs`. */
export class Published {
  constructor(private readonly published: PublishedEvents) {}

  get count(): number {
    return this.published.eventIds.length;
  }

  get firstSentAt(): number {
    return this.published.sentAt.reduce((first, at) => Math.min(first, at), Infinity);
  }

  get lastAcknowledgedAt(): number {
    return this.published.acknowledgedAt.reduce((last, at) => Math.max(last, at), -Infinity);
  }

  /** When each event was sent, by its id. */
  get sentAt(): ReadonlyMap<string, number> {
    const { eventIds, eventsEachRequest, sentAt } = this.published;
    return new Map(eventIds.map((id, index) => [id, sentAt[Math.floor(index / eventsEachRequest)] ?? Number.NaN]));
  }

  /** How long the answers took. */
  get acknowledgements(): Histogram {
    const { sentAt, acknowledgedAt } = this.published;
    const took = new Histogram();
    for (const [index, at] of acknowledgedAt.entries()) took.record(at - (sentAt[index] ?? Number.NaN));
    return took;
  }
}
