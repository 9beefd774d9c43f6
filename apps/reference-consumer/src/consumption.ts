import { EventStream, isExample, type EventSource, type Feed, type GaplessEvent, type Push } from '#libs/consumer';
import { messageOf } from '#libs/domain';
import { ConsumerError } from './consumer-error.js';
import type { ConsumerState } from './consumer-state.js';
import type { EventPrinter } from './event-printer.js';
import { gapText, repeatText } from './event-text.js';

export interface ConsumptionOptions<Transaction> {
  readonly orgId: string;
  readonly feed: Feed;
  readonly state: ConsumerState<Transaction>;
  /** The event types to handle when they are read from the feed, which has all types. Every pushed event is handled. */
  readonly events: readonly string[];
  readonly printer: EventPrinter;
  /** The status that answers pushes. */
  readonly status: number;
  readonly print: (text: string) => void;
  /** Called with the seq after which it begins, once that is known. Every later event is handled. */
  readonly onReady: (position: number) => void;
}

/** How often to look for a last event whose push was lost, so that someone at the terminal sees it soon. */
const POLL_INTERVAL_MS = 5_000;
/** How many pushes are kept, as many as events in the stream. An event whose push is not kept is read from the feed. */
const MAX_PUSHES = 5_000;
/** How many skipped events are remembered, in case their push comes later. */
const MAX_SKIPPED = 1_000;

/** Handles every event of the organization once, in order, whether it is pushed or has to be read from the feed. */
export class Consumption<Transaction> {
  readonly #options: ConsumptionOptions<Transaction>;
  readonly #stream: EventStream<Transaction>;
  readonly #events: ReadonlySet<string>;
  /** The pushes of events that wait for their turn, by seq. */
  readonly #pushes = new Map<number, Push>();
  /** The ids of events that were skipped in the feed because they had no push, oldest first. */
  readonly #skipped = new Set<string>();

  constructor(options: ConsumptionOptions<Transaction>) {
    const { orgId, feed, state, print, onReady } = options;
    this.#options = options;
    this.#events = new Set(options.events);
    this.#stream = new EventStream({
      orgId,
      feed,
      cursor: state.cursor,
      dedup: state.dedup,
      startAt: 'head',
      pollIntervalMs: POLL_INTERVAL_MS,
      handle: (event, { source, transaction }) => this.#handle(event, source, transaction),
      onReady,
      onError: (error, event) => {
        print(`${event === undefined ? 'trying again' : `#${event.seq} is tried again`}: ${String(error)}\n`);
      },
      onGap: (after) => {
        print(gapText(after));
      },
      onPruned: (error) => {
        print(`${error.message}\n`);
      },
    });
  }

  /**
   * Takes a verified push.
   * @throws any error of the store, if the event was skipped in the feed
   */
  async take(event: GaplessEvent, push: Push): Promise<void> {
    const { state, print, status } = this.#options;
    if (this.#skipped.has(event.id)) {
      // With its own id it counts as done, because the stream has passed it.
      await state.dedup.once({ org_id: event.org_id, id: `${event.id}/pushed` }, (transaction) =>
        this.#record(event, 'push', transaction, push),
      );
      this.#skipped.delete(event.id);
    } else if (event.seq <= this.#position) print(repeatText(event, push, status));
    else {
      this.#stream.push(event);
      this.#keep(event, push);
    }
  }

  /**
   * Handles events until the signal is aborted.
   * @throws ConsumerError when the feed cannot be read
   */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#stream.run(signal);
    } catch (error) {
      throw new ConsumerError(`the feed cannot be read: ${messageOf(error)}`);
    }
  }

  get #position(): number {
    return this.#stream.position ?? 0;
  }

  #keep({ seq }: GaplessEvent, push: Push): void {
    if (this.#pushes.size >= MAX_PUSHES) {
      // Events that were handled before a restart have no turn.
      for (const kept of this.#pushes.keys()) if (kept <= this.#position) this.#pushes.delete(kept);
    }
    if (this.#pushes.size < MAX_PUSHES) this.#pushes.set(seq, push);
  }

  async #handle(event: GaplessEvent, source: EventSource, transaction: Transaction): Promise<void> {
    const push = this.#pushes.get(event.seq);
    // Tests and examples are pushed without a subscription. The feed also has those of other endpoints.
    if (push !== undefined || (this.#events.has(event.event) && !isExample(event))) {
      await this.#record(event, source, transaction, push);
    } else this.#skip(event);
    this.#pushes.delete(event.seq);
  }

  #skip({ id }: GaplessEvent): void {
    this.#skipped.add(id);
    for (const oldest of this.#skipped) {
      if (this.#skipped.size <= MAX_SKIPPED) return;
      this.#skipped.delete(oldest);
    }
  }

  async #record(event: GaplessEvent, source: EventSource, transaction: Transaction, push?: Push): Promise<void> {
    const { state, printer, status } = this.#options;
    await state.record(event, source, transaction);
    printer.handled(event, push === undefined ? { kind: 'read' } : { kind: 'pushed', push, status });
  }
}
