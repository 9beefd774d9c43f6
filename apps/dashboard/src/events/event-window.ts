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

function cut<E extends Sequenced>(window: EventWindow<E>): EventWindow<E> {
  if (window.events.length <= MAX_EVENTS) return window;
  const events = window.events.slice(0, MAX_EVENTS);
  return { ...window, events, before: events.at(-1)?.seq ?? window.before };
}
