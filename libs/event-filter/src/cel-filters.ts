import type { EventFilters, FilterResult } from '#libs/domain';
import { CompiledFilter, compileFilter } from './compiled-filter.js';

/** The most filters that are kept compiled: a few tens of kilobytes each. */
const MAX_COMPILED = 1_000;

/**
 * A filter is too expensive when it takes this long, milliseconds, so many times in a row. Usual ones take a
 * hundredth of that, on a busy machine too.
 */
const EXPENSIVE_MS = 0.5;
const EXPENSIVE_TIMES = 20;
/** Then it is not evaluated for this long. Its tenant gets all events, and others keep their thread. */
const RESTS_MS = 30_000;

/** A filter, and what it costs. */
interface Kept {
  /** `null` for a text that does not compile. */
  readonly filter: CompiledFilter | null;
  expensiveTimes: number;
  restsUntilMs: number;
}

/** Filters in CEL. Each is compiled once, as long as it is used. */
export class CelFilters implements EventFilters {
  readonly #kept = new Map<string, Kept>();
  /** The envelope that was parsed last: many endpoints are asked about the same event. */
  #last: { readonly envelope: WeakRef<Buffer>; readonly event: unknown } | undefined;

  /** @param now milliseconds that only grow */
  constructor(private readonly now: () => number = () => performance.now()) {}

  test(filter: string, envelope: Buffer): FilterResult {
    const kept = this.#keep(filter);
    if (kept.filter === null) return { kind: 'fails', reason: 'The filter cannot be parsed.' };
    if (kept.restsUntilMs > this.now()) return { kind: 'fails', reason: 'The filter is too expensive.' };
    try {
      const event = this.#parse(envelope);
      const beganMs = this.now();
      const result = kept.filter.test(event, envelope.length);
      noteCost(kept, beganMs, this.now());
      return result;
    } catch {
      return { kind: 'fails', reason: 'The event cannot be parsed.' };
    }
  }

  #keep(filter: string): Kept {
    let kept = this.#kept.get(filter);
    if (kept === undefined) {
      const result = compileFilter(filter);
      kept = { filter: result instanceof CompiledFilter ? result : null, expensiveTimes: 0, restsUntilMs: 0 };
    } else {
      this.#kept.delete(filter);
    }
    // The map is in order of use.
    this.#kept.set(filter, kept);
    if (this.#kept.size > MAX_COMPILED) this.#kept.delete(this.#kept.keys().next().value ?? '');
    return kept;
  }

  #parse(envelope: Buffer): unknown {
    if (this.#last?.envelope.deref() !== envelope) {
      // An envelope is a part of its batch, which must not be kept.
      this.#last = { envelope: new WeakRef(envelope), event: JSON.parse(envelope.toString()) };
    }
    return this.#last.event;
  }
}

function noteCost(kept: Kept, beganMs: number, endedMs: number): void {
  if (endedMs - beganMs < EXPENSIVE_MS) {
    kept.expensiveTimes = 0;
    return;
  }
  if (++kept.expensiveTimes < EXPENSIVE_TIMES) return;
  kept.expensiveTimes = 0;
  kept.restsUntilMs = endedMs + RESTS_MS;
}
