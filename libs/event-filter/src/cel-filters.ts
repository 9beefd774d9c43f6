import type { EventFilters, FilterResult } from '#libs/domain';
import { CompiledFilter, compileFilter } from './compiled-filter.js';

/**
 * The most characters of filters that are kept compiled: 6,000 filters of the usual size. A compiled filter takes 35 to 75
 * bytes for each character, so all of them take about 60 MB at most.
 */
const MAX_COMPILED_CHARACTERS = 1_000_000;
/** What a filter takes besides its text, in characters. */
const CHARACTERS_EACH = 20;

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

function charactersOf(filter: string): number {
  return filter.length + CHARACTERS_EACH;
}

/** Filters in CEL. Each is compiled once, as long as it is used. */
export class CelFilters implements EventFilters {
  readonly #kept = new Map<string, Kept>();
  #characters = 0;
  /** The envelope that was parsed last: many endpoints are asked about the same event. */
  #last: { readonly envelope: WeakRef<Buffer>; readonly event: unknown } | undefined;

  /** @param now milliseconds that only grow */
  constructor(
    private readonly now: () => number = () => performance.now(),
    private readonly compile = compileFilter,
  ) {}

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
      const result = this.compile(filter);
      this.#characters += charactersOf(filter);
      kept = { filter: result instanceof CompiledFilter ? result : null, expensiveTimes: 0, restsUntilMs: 0 };
    } else {
      this.#kept.delete(filter);
    }
    // The map is in order of use.
    this.#kept.set(filter, kept);
    this.#makeRoom();
    return kept;
  }

  #makeRoom(): void {
    for (const oldest of this.#kept.keys()) {
      if (this.#characters <= MAX_COMPILED_CHARACTERS) return;
      this.#kept.delete(oldest);
      this.#characters -= charactersOf(oldest);
    }
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
