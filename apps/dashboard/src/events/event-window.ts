interface Sequenced {
  readonly seq: number;
}

/** Some consecutive events of the feed: every event that matches the filter from the oldest one to `top`. */
export interface EventWindow<E extends Sequenced> {
  /** Newest first. */
  readonly events: readonly E[];
  /** The feed was read up to this seq. */
  readonly top: number;
  /** The seq below which the feed was not read; `null` if there is nothing below. */
  readonly before: number | null;
}

/** The most events in a window. A browser draws this many lines without delay. */
export const MAX_EVENTS = 1_000;

/** Adds events above. If the window gets too long, it loses its oldest events: never one from the middle. */
export function withNewer<E extends Sequenced>(
  window: EventWindow<E>,
  ascending: readonly E[],
  top: number,
): EventWindow<E> {
  const fresh = ascending.filter(({ seq }) => seq > window.top).toReversed();
  return cut({ events: [...fresh, ...window.events], top: Math.max(top, window.top), before: window.before });
}

/** Adds events below. The user asked for them, so they are not cut. */
export function withOlder<E extends Sequenced>(
  window: EventWindow<E>,
  ascending: readonly E[],
  before: number | null,
): EventWindow<E> {
  return { ...window, events: [...window.events, ...ascending.toReversed()], before };
}

/** How many events have come after a seq. */
export interface Arrivals {
  readonly count: number;
  /** Whether there may be more. */
  readonly isLeast: boolean;
}

/**
 * Counts the events after a seq. A window that began again at the head, or lost its oldest events, may not reach back to
 * it.
 */
export function arrivals(window: EventWindow<Sequenced>, seq: number, isFiltered: boolean): Arrivals {
  // Without a filter, every seq has an event.
  if (!isFiltered) return { count: window.top - seq, isLeast: false };
  const count = window.events.filter((event) => event.seq > seq).length;
  return { count, isLeast: window.before !== null && window.before > seq + 1 };
}

function cut<E extends Sequenced>(window: EventWindow<E>): EventWindow<E> {
  if (window.events.length <= MAX_EVENTS) return window;
  const events = window.events.slice(0, MAX_EVENTS);
  return { ...window, events, before: events.at(-1)?.seq ?? window.before };
}
