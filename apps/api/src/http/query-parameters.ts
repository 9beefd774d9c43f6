import type { FieldProblem } from '#libs/domain';
import { errorOf, memberPointer, throwIfInvalid } from './validation-error.js';

/** How many elements a page of a list has: the most, and how many without a `limit`. */
export interface PageLimits {
  readonly max: number;
  readonly fallback: number;
}

/** An integer in its usual form: no plus sign, no leading zeros, no exponent. */
const DECIMAL_INTEGER = /^(?:0|-?[1-9]\d*)$/;

/**
 * Reads a query strictly (contract 8.1). A value of the wrong type is `malformed_request`. A value out of range, an
 * unknown parameter and a repeated one are 422. An empty value counts as absent.
 */
export class QueryParameters {
  readonly #values = new Map<string, string>();
  readonly #lists = new Map<string, readonly string[]>();
  readonly #unreadable: FieldProblem[] = [];
  readonly #problems: FieldProblem[] = [];

  /**
   * @param query the query as Fastify parsed it: a member for each parameter, with an array if it is repeated
   * @param repeatable the known parameters that may be repeated
   */
  constructor(query: unknown, known: readonly string[], repeatable: readonly string[] = []) {
    for (const [name, value] of Object.entries(query as Record<string, unknown>)) {
      if (!known.includes(name)) this.refuse(name, 'unknown_parameter', 'is not a parameter of this operation');
      else if (repeatable.includes(name)) this.#lists.set(name, listOf(value));
      else if (typeof value !== 'string') this.refuse(name, 'repeated', 'must not be repeated');
      else if (value !== '') this.#values.set(name, value);
    }
  }

  text(name: string): string | undefined {
    return this.#values.get(name);
  }

  /** Returns the values of a parameter that may be repeated, without empty ones. */
  texts(name: string): readonly string[] {
    return this.#lists.get(name) ?? [];
  }

  integer(name: string, min: number, max: number): number | undefined {
    return this.read(
      name,
      (text) => {
        if (!DECIMAL_INTEGER.test(text)) return undefined;
        const value = Number(text);
        if (value >= min && value <= max) return value;
        this.refuse(name, 'out_of_range', `must be from ${min} to ${max}`);
        return min;
      },
      'must be a decimal integer',
    );
  }

  /** Returns the `limit` of a list. */
  limit({ max, fallback }: PageLimits): number {
    return this.integer('limit', 1, max) ?? fallback;
  }

  /** Returns the place of the `cursor` of a list. @param decode returns `undefined` for an invalid cursor */
  cursor<Place>(decode: (cursor: string) => Place | undefined): Place | undefined {
    const cursor = this.text('cursor');
    const place = cursor === undefined ? undefined : decode(cursor);
    if (cursor !== undefined && place === undefined) {
      this.refuse('cursor', 'invalid_format', 'must be the next_cursor of an earlier page');
    }
    return place;
  }

  /** @param parse returns `undefined` for text that it cannot read */
  read<T>(name: string, parse: (text: string) => T | undefined, expected: string): T | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = parse(text);
    if (value === undefined)
      this.#unreadable.push({ pointer: memberPointer(name), code: 'invalid_format', detail: expected });
    return value;
  }

  /** Notes that a value is readable, but not allowed. */
  refuse(name: string, code: string, detail: string): void {
    this.#problems.push({ pointer: memberPointer(name), code, detail });
  }

  /** @throws GaplessError `malformed_request`, `unknown_event_type` or `validation_failed` */
  throwIfAny(): void {
    const [unreadable, ...others] = this.#unreadable;
    if (unreadable !== undefined) throw errorOf('malformed_request', [unreadable, ...others]);
    throwIfInvalid(this.#problems);
  }
}

function listOf(value: unknown): readonly string[] {
  return [value].flat().filter((text): text is string => typeof text === 'string' && text !== '');
}
