import type { Bench } from './bench.js';
import { ingestBody } from './event-bodies.js';
import type { Endpoint, GaplessApi } from './gapless-api.js';
import type { GaplessProcess } from './gapless-process.js';
import { Histogram } from './histogram.js';
import type { Load } from './load.js';
import type { Inbox, Receiver } from './receiver.js';
import { figure, latencyFigures, type Figure } from './report.js';
import { Resources } from './resources.js';

const EVENT = 'ticket.created';
/** What a process compiles in its first seconds is not what it does all day. */
const WARM_UP_EVENTS = 1_000;
const IN_FLIGHT = 64;

/** How long the events took from publishing to receipt, over all of the inboxes. */
export function receiptLatencies(load: Load, inboxes: readonly Inbox[]): Histogram {
  const latencies = new Histogram();
  for (const [id, sentAt] of load.sentAt) {
    for (const { receivedAt } of inboxes) {
      const at = receivedAt.get(id);
      if (at !== undefined) latencies.record(at - sentAt);
    }
  }
  return latencies;
}

/** A warm Gapless and endpoints that answer at once, all subscribed to what is published. */
export class Deliveries {
  readonly #inboxes: Inbox[] = [];
  #endpoints: Endpoint[] = [];

  private constructor(
    private readonly bench: Bench,
    private readonly gapless: GaplessProcess,
    private readonly api: GaplessApi,
    private readonly receiver: Receiver,
  ) {}

  static async prepare(bench: Bench, endpoints: number): Promise<Deliveries> {
    const gapless = await bench.gapless();
    const deliveries = new Deliveries(bench, gapless, bench.api(gapless), await bench.receiver());
    await deliveries.#register(endpoints);
    bench.tell(`warming up with ${WARM_UP_EVENTS.toLocaleString('en-US')} events`);
    await deliveries.#publish((load, body) => load.burst(WARM_UP_EVENTS / endpoints, body));
    return deliveries;
  }

  /** As many single-event requests as fit through 64 connections. */
  async burst(events: number): Promise<readonly Figure[]> {
    const deliveries = events * this.#inboxes.length;
    this.bench.tell(
      `burst: ${events.toLocaleString('en-US')} events, ${deliveries.toLocaleString('en-US')} deliveries`,
    );
    const { load, latencies, settledAt, resources, repeats } = await this.#publish((load, body) =>
      load.burst(events, body),
    );
    const perSecond = (count: number, until: number) => (count * 1_000) / (until - load.firstSentAt);
    const lastReceivedAt = Math.max(...this.#inboxes.map((inbox) => inbox.lastReceivedAt));
    return [
      figure('burst: acknowledged', perSecond(events, load.lastAcknowledgedAt), 'events/s'),
      ...latencyFigures('burst: acknowledgement', load.acknowledgements),
      figure('burst: delivered', perSecond(deliveries, lastReceivedAt), 'deliveries/s'),
      ...latencyFigures('burst: publish to receipt', latencies),
      figure('burst: delivery log complete', perSecond(deliveries, settledAt), 'deliveries/s'),
      figure('burst: repeated deliveries', repeats, ''),
      ...resources.figures({ count: deliveries, of: 'deliveries' }),
    ];
  }

  /** Single-event requests at a fixed rate. */
  async steady(perSecond: number, seconds: number): Promise<readonly Figure[]> {
    this.bench.tell(`steady: ${perSecond} events/s for ${seconds} s`);
    const { load, latencies, resources, repeats } = await this.#publish((load, body) =>
      load.steadily({ perSecond, forMs: seconds * 1_000 }, body),
    );
    return [
      ...latencyFigures(`steady ${perSecond}/s: acknowledgement`, load.acknowledgements),
      ...latencyFigures(`steady ${perSecond}/s: publish to receipt`, latencies),
      figure(`steady ${perSecond}/s: repeated deliveries`, repeats, ''),
      ...resources
        .figures({ count: latencies.count, of: 'deliveries' })
        .map((one) => ({ ...one, name: `steady ${perSecond}/s: ${one.name}` })),
    ];
  }

  async #register(count: number): Promise<void> {
    for (let made = 0; made < count; made++) {
      const inbox = this.receiver.inbox();
      this.#inboxes.push(inbox);
      this.#endpoints.push(await this.api.createEndpoint(inbox.url, [EVENT]));
    }
  }

  /** Publishes and waits until everything is received and in the delivery log. */
  async #publish(publish: (load: Load, body: Buffer) => Promise<void>) {
    const load = this.bench.load(this.gapless, IN_FLIGHT);
    const before = this.#inboxes.map((inbox) => inbox.receivedAt.size)[0] ?? 0;
    const repeatsBefore = this.#repeats();
    const resources = new Resources(this.gapless.pid);
    await publish(load, ingestBody(EVENT));
    const total = before + load.sentAt.size;
    await this.receiver.untilReceived(this.#inboxes, total);
    await this.api.untilDelivered(this.#endpoints, total);
    return {
      load,
      latencies: receiptLatencies(load, this.#inboxes),
      settledAt: performance.now(),
      resources,
      repeats: this.#repeats() - repeatsBefore,
    };
  }

  #repeats(): number {
    return this.#inboxes.reduce((sum, inbox) => sum + inbox.repeats, 0);
  }
}
