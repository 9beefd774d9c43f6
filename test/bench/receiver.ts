import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** How an endpoint answers what it is pushed. */
export type Manner =
  { readonly kind: 'at_once' } | { readonly kind: 'after'; readonly ms: number } | { readonly kind: 'never' };

/** What one endpoint has received. */
export class Inbox {
  /** When each event came whole for the first time, on the monotonic clock, by its id. */
  readonly receivedAt = new Map<string, number>();
  /** Pushes of events that had come before. */
  repeats = 0;
  lastReceivedAt = Number.NaN;

  constructor(
    readonly url: string,
    private readonly manner: Manner,
  ) {}

  receive(eventId: string, response: ServerResponse): void {
    const now = performance.now();
    if (this.receivedAt.has(eventId)) this.repeats++;
    else {
      this.receivedAt.set(eventId, now);
      this.lastReceivedAt = now;
    }
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

/** How long nothing may come in while something is waited for. */
const STALL_MS = 60_000;

/** A customer's HTTP server on loopback, with any number of endpoints. */
export class Receiver {
  readonly #inboxes = new Map<string, Inbox>();

  private constructor(
    private readonly server: Server,
    private readonly signal: AbortSignal,
  ) {}

  static async start(signal: AbortSignal): Promise<Receiver> {
    const server = createServer({ keepAliveTimeout: 30_000 }, (request, response) => {
      request.resume();
      request.once('end', () => {
        const inbox = receiver.#inboxes.get(request.url ?? '');
        if (inbox === undefined) response.writeHead(404).end();
        else inbox.receive(String(request.headers['x-service-event-id']), response);
      });
    });
    const receiver = new Receiver(server, signal);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  /** A new endpoint. */
  inbox(manner: Manner = { kind: 'at_once' }): Inbox {
    const path = `/hooks/${this.#inboxes.size + 1}`;
    const { port } = this.server.address() as AddressInfo;
    const inbox = new Inbox(`http://127.0.0.1:${port}${path}`, manner);
    this.#inboxes.set(path, inbox);
    return inbox;
  }

  /** Waits until each of the inboxes has as many events. @throws when nothing comes any more */
  async untilReceived(inboxes: readonly Inbox[], eventsEach: number): Promise<void> {
    const received = () => inboxes.reduce((sum, inbox) => sum + inbox.receivedAt.size, 0);
    let before = received();
    let stalledSince = performance.now();
    while (inboxes.some((inbox) => inbox.receivedAt.size < eventsEach)) {
      await delay(20, undefined, { signal: this.signal });
      const now = received();
      if (now !== before) stalledSince = performance.now();
      before = now;
      if (performance.now() - stalledSince > STALL_MS) {
        throw new Error(
          `only ${now} of ${eventsEach * inboxes.length} deliveries came; none for ${STALL_MS / 1_000} s`,
        );
      }
    }
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.server.close(() => {
        resolve();
      });
      this.server.closeAllConnections();
    });
  }
}
