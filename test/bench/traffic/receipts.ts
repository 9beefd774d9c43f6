import { Histogram } from '../figures/histogram.js';
import type { GroupReceipts } from './receiver-main.js';

/** What a group of endpoints has received, and when; times are by `monotonicMs`. */
export class Receipts {
  constructor(private readonly received: GroupReceipts) {}

  get firstAt(): number {
    return this.received.receivedAt.reduce((first, at) => (at < first ? at : first), Infinity);
  }

  get lastAt(): number {
    return this.received.receivedAt.reduce((last, at) => (at > last ? at : last), -Infinity);
  }

  /** Returns the events a second, from the first receipt after the warm-up to the last one. */
  perSecond(warmUpMs: number): number {
    const { firstAt, lastAt } = this;
    const measured = this.received.receivedAt.filter((at) => at >= firstAt + warmUpMs);
    const beganAt = measured.reduce((first, at) => (at < first ? at : first), Infinity);
    return (measured.filter((at) => at > beganAt).length * 1_000) / (lastAt - beganAt);
  }

  /**
   * How long the events took from publishing to receipt, at each endpoint that got them.
   * @param sentAt when the events were sent, by their ids; what came besides does not count
   * @param endpointsEach how many endpoints each event is for
   * @throws when one of them was not received that often
   */
  latencies(sentAt: ReadonlyMap<string, number>, endpointsEach = 1): Histogram {
    const { eventIds, receivedAt } = this.received;
    const latencies = new Histogram();
    for (const [index, id] of eventIds.entries()) {
      const at = sentAt.get(id);
      if (at !== undefined) latencies.record((receivedAt[index] ?? Number.NaN) - at);
    }
    const expected = sentAt.size * endpointsEach;
    if (latencies.count !== expected) throw new Error(`${latencies.count} of ${expected} deliveries were received`);
    return latencies;
  }
}
