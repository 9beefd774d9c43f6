import type { AttemptOutcome, Destination, DueAttempt, Target } from '#libs/domain';
import type { Config } from '#libs/runtime';
import { DESTINATION_KINDS } from './destination-kinds.js';
import type { DestinationContext, DestinationKind, UrlVerdict } from './destination-kind.js';

/** Holds one value for each kind of destination and finds it by a url's scheme. */
class ByKind<Thing> {
  /** Also used for urls whose scheme no kind has. */
  readonly #first: Thing;
  readonly #others: readonly (readonly [DestinationKind, Thing])[];

  constructor(make: (kind: DestinationKind) => Thing) {
    const [first, ...others] = DESTINATION_KINDS;
    this.#first = make(first);
    this.#others = others.map((kind) => [kind, make(kind)] as const);
  }

  get all(): readonly Thing[] {
    return [this.#first, ...this.#others.map(([, thing]) => thing)];
  }

  of(url: string): Thing {
    const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0].toLowerCase() ?? '';
    return this.#others.find(([{ schemes }]) => schemes.includes(scheme))?.[1] ?? this.#first;
  }
}

const KINDS = new ByKind((kind) => kind);

/** Returns the kind of destination that a url belongs to. */
export function kindOf(url: string): DestinationKind {
  return KINDS.of(url);
}

/** @returns the function that decides whether a url may be registered (contract 5.2) */
export function urlCheck(config: Config): (url: string) => Promise<UrlVerdict> {
  const checks = new ByKind((kind) => kind.urlCheck(config));
  return (url) => checks.of(url)(url);
}

/** Sends each attempt to the destination of its url's scheme. */
export class Destinations implements Destination {
  readonly #opened: ByKind<Destination>;

  constructor(context: DestinationContext) {
    this.#opened = new ByKind((kind) => kind.open(context));
  }

  whenThere(target: Target, signal: AbortSignal): Promise<boolean> {
    return this.#opened.of(target.url).whenThere?.(target, signal) ?? Promise.resolve(false);
  }

  attempt(due: DueAttempt, target: Target, signal: AbortSignal, onSent?: () => void): Promise<AttemptOutcome | null> {
    return this.#opened.of(target.url).attempt(due, target, signal, onSent);
  }

  prepare(due: DueAttempt, target: Target, nowMs: number): void {
    this.#opened.of(target.url).prepare?.(due, target, nowMs);
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.all.map((destination) => destination.close()));
  }
}
