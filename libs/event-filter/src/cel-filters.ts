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
 * A filter is too expensive for an organization when it took this long, milliseconds, so many times more often than it
 * did not. Usual ones take a hundredth of that, on a busy machine too.
 */
const EXPENSIVE_MS = 0.5;
const EXPENSIVE_TIMES = 20;
/** Then it is not evaluated for this long. Its tenant gets all events, and others keep their thread. */
const RESTS_MS = 30_000;
/** The most organizations whose costs are kept for a filter. Each of them has paid for an expensive evaluation. */
const MAX_COSTS = 1_000;

/** What a filter costs with the events of an organization. */
interface Cost {
  expensiveTimes: number;
  restsUntilMs: number;
}

interface Kept {
  /** `null` for a text that does not compile. */
  readonly filter: CompiledFilter | null;
  /**
   * By organization, for those for which it was expensive lately. Many may have the same filter, and each chooses its
   * events.
   */
  readonly costs: Map<string, Cost>;
}

/** In an envelope, only members whose values Gapless makes come before this one. */
const ORG_MEMBER = '"org_id":"';
const ORG_LENGTH = 36;

/** Returns the organization of an event without parsing it. */
function orgOf(envelope: Buffer): string {
  const start = envelope.indexOf(ORG_MEMBER) + ORG_MEMBER.length;
  return envelope.toString('latin1', start, start + ORG_LENGTH);
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
    if (restsFor(envelope, kept, this.now())) return { kind: 'fails', reason: 'The filter is too expensive.' };
    try {
      const event = this.#parse(envelope);
      const beganMs = this.now();
      const result = kept.filter.test(event, envelope.length);
      noteCost(envelope, kept, beganMs, this.now());
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
      kept = { filter: result instanceof CompiledFilter ? result : null, costs: new Map() };
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

function restsFor(envelope: Buffer, { costs }: Kept, nowMs: number): boolean {
  if (costs.size === 0) return false;
  const cost = costs.get(orgOf(envelope));
  return cost !== undefined && cost.restsUntilMs > nowMs;
}

function noteCost(envelope: Buffer, { costs }: Kept, beganMs: number, endedMs: number): void {
  const isExpensive = endedMs - beganMs >= EXPENSIVE_MS;
  if (!isExpensive && costs.size === 0) return;
  const orgId = orgOf(envelope);
  const cost = costs.get(orgId) ?? { expensiveTimes: 0, restsUntilMs: 0 };
  costs.delete(orgId);
  cost.expensiveTimes += isExpensive ? 1 : -1;
  if (cost.expensiveTimes <= 0) return;
  if (cost.expensiveTimes === EXPENSIVE_TIMES) {
    cost.expensiveTimes = 0;
    cost.restsUntilMs = endedMs + RESTS_MS;
  }
  costs.set(orgId, cost);
  // The map is in order of use.
  const [oldest] = costs.keys();
  if (oldest !== undefined && costs.size > MAX_COSTS) costs.delete(oldest);
}
