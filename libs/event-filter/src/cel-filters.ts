import type { EventFilters, FilterResult } from '#libs/domain';
import { CompiledFilter, compileFilter } from './compiled-filter.js';

/** The most filters that are kept compiled: a few tens of kilobytes each. */
const MAX_COMPILED = 1_000;

/** Filters in CEL. Each is compiled once, as long as it is used. */
export class CelFilters implements EventFilters {
  readonly #compiled = new Map<string, CompiledFilter | null>();
  /** The envelope that was parsed last: many endpoints are asked about the same event. */
  #last: { readonly envelope: WeakRef<Buffer>; readonly event: unknown } | undefined;

  test(filter: string, envelope: Buffer): FilterResult {
    const compiled = this.#compile(filter);
    if (compiled === null) return { kind: 'fails', reason: 'The filter cannot be parsed.' };
    try {
      return compiled.test(this.#parse(envelope), envelope.length);
    } catch {
      return { kind: 'fails', reason: 'The event cannot be parsed.' };
    }
  }

  /** Returns `null` for a text that does not compile. */
  #compile(filter: string): CompiledFilter | null {
    let compiled = this.#compiled.get(filter);
    if (compiled === undefined) {
      const result = compileFilter(filter);
      compiled = result instanceof CompiledFilter ? result : null;
    } else {
      this.#compiled.delete(filter);
    }
    // The map is in order of use.
    this.#compiled.set(filter, compiled);
    if (this.#compiled.size > MAX_COMPILED) this.#compiled.delete(this.#compiled.keys().next().value ?? '');
    return compiled;
  }

  #parse(envelope: Buffer): unknown {
    if (this.#last?.envelope.deref() !== envelope) {
      // An envelope is a part of its batch, which must not be kept.
      this.#last = { envelope: new WeakRef(envelope), event: JSON.parse(envelope.toString()) };
    }
    return this.#last.event;
  }
}
