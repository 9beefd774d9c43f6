/** Taken before anything replaces it: the only timer that is real. */
const nextTurn = setImmediate;
/** After so many events the event loop turns: only then does Node report promises that nobody handles. */
const EVENTS_PER_TURN = 50;

/** Calls back once everything that waits for a settled promise has gone on. */
function whenFollowed(act: () => void): void {
  // Ticks come after all microtasks, those included that microtasks add.
  queueMicrotask(() => {
    process.nextTick(act);
  });
}

/** When a history begins, in epoch milliseconds. */
export const EPOCH_MS = Date.UTC(2026, 2, 2, 9);

/** Someone to whom things happen: a process, a server, a client. Each event belongs to one actor. */
export class Actor {
  isAlive = true;
  isFrozen = false;
  /** How far the wall clock of the actor is ahead of the true time. */
  clockSkewMs = 0;
  /** What would have happened to it while it was frozen. */
  readonly parked: ScheduledEvent[] = [];

  constructor(readonly name: string) {}
}

export interface ScheduledEvent {
  atMs: number;
  order: number;
  readonly actor: Actor;
  /** `null` once it has happened or is cancelled. */
  run: (() => void) | null;
}

function isBefore(one: ScheduledEvent, other: ScheduledEvent): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}

/**
 * The clock of a history and all that is still to happen in it. One event happens at a time; the promises that it
 * settles are followed to their ends before the next one, so the same seed always gives the same history.
 */
export class VirtualTime {
  /** Milliseconds since the beginning of the history. */
  nowMs = 0;
  /** The actor whose code runs now. Timers that it sets belong to it. */
  current: Actor = new Actor('world');
  /** How many events have happened. */
  steps = 0;
  readonly #heap: ScheduledEvent[] = [];
  #order = 0;
  #isOver = false;

  /** The wall clock, as the current actor reads it. */
  get wallMs(): number {
    return Math.floor(EPOCH_MS + this.nowMs + this.current.clockSkewMs);
  }

  schedule(delayMs: number, actor: Actor, run: () => void): ScheduledEvent {
    const event = { atMs: this.nowMs + Math.max(0, delayMs), order: this.#order++, actor, run };
    this.#push(event);
    return event;
  }

  freeze(actor: Actor): void {
    actor.isFrozen = true;
  }

  thaw(actor: Actor): void {
    actor.isFrozen = false;
    for (const event of actor.parked.splice(0)) {
      event.atMs = Math.max(event.atMs, this.nowMs);
      event.order = this.#order++;
      this.#push(event);
    }
  }

  /** Nothing happens to it any more. */
  kill(actor: Actor): void {
    actor.isAlive = false;
    actor.parked.length = 0;
  }

  /** Ends `run` after the present event. */
  end(): void {
    this.#isOver = true;
  }

  /** Lets everything happen until `end`, the time limit, or the limit of events. */
  run(limits: { readonly untilMs: number; readonly steps: number }): Promise<'ended' | 'out of time' | 'out of steps'> {
    return new Promise((resolve, reject) => {
      const step = () => {
        if (this.#isOver || this.steps >= limits.steps) {
          nextTurn(() => {
            resolve(this.#isOver ? 'ended' : 'out of steps');
          });
          return;
        }
        const event = this.#take();
        if (event === undefined || event.atMs > limits.untilMs) {
          resolve('out of time');
          return;
        }
        this.nowMs = event.atMs;
        this.current = event.actor;
        this.steps++;
        const { run } = event;
        event.run = null;
        try {
          run?.();
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
          return;
        }
        if (this.steps % EVENTS_PER_TURN === 0) nextTurn(step);
        else whenFollowed(step);
      };
      nextTurn(step);
    });
  }

  #take(): ScheduledEvent | undefined {
    for (;;) {
      const event = this.#pop();
      if (event === undefined) return undefined;
      if (event.run === null || !event.actor.isAlive) continue;
      if (!event.actor.isFrozen) return event;
      event.actor.parked.push(event);
    }
  }

  #push(event: ScheduledEvent): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = heap[parentAt];
      if (parent === undefined || isBefore(parent, event)) break;
      heap[at] = parent;
      at = parentAt;
    }
    heap[at] = event;
  }

  #pop(): ScheduledEvent | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let childAt = 2 * at + 1;
      let child = heap[childAt];
      if (child === undefined) break;
      const other = heap[childAt + 1];
      if (other !== undefined && isBefore(other, child)) {
        child = other;
        childAt++;
      }
      if (isBefore(last, child)) break;
      heap[at] = child;
      at = childAt;
    }
    heap[at] = last;
    return first;
  }
}
