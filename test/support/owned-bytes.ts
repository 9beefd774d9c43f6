import { join } from 'node:path';
import { answeringFor, NODE, originOf, ownerOf, type CodePlace } from '../bench/flame/code-owner.js';
import type { Costs } from './counted-costs.js';
import { ROOT } from './root.js';

/** Owns what a test and its runner do: its client, its receiver, what it counts with. */
export const THE_TEST = 'the test';
const TEST_FOLDER = join(ROOT, 'test');
/** Jest follows each promise. Gapless follows none. */
const JEST_HOOKS = 'node:internal/async_hooks';
/** The packages that make up the Postgres client are taken as one. */
const OF_PG = /^(pg|postgres)-/;

/** Who answers for what a function uses, in a process that runs a test beside Gapless; see `answeringFor`. */
export function ownerBesideTest(place: CodePlace, caller: string): string {
  if (place.url.replace('file://', '').startsWith(`${TEST_FOLDER}/`) || place.url === JEST_HOOKS) return THE_TEST;
  const owner = answeringFor({ origin: originOf(place), owner: ownerOf(place) }, caller);
  return OF_PG.test(owner) ? 'pg' : owner;
}

/**
 * Bytes by `<owner>: <what>`. Under `all` are those of everybody but the test, and but Node when no other code has called
 * it: there it works for the test's client and receiver as well.
 */
export class OwnedBytes {
  readonly #bytes = new Map<string, number>();

  add(owner: string, what: string, bytes: number): void {
    this.#add(`${owner}: ${what}`, bytes);
    if (owner !== THE_TEST && owner !== NODE) this.#add(`all: ${what}`, bytes);
  }

  /** @param per what they are divided by */
  costs(per: number): Costs {
    return Object.fromEntries([...this.#bytes].map(([name, bytes]) => [name, bytes / per]));
  }

  #add(name: string, bytes: number): void {
    this.#bytes.set(name, (this.#bytes.get(name) ?? 0) + bytes);
  }
}
