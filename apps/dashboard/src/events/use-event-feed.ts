import { useEffect, useRef, useState } from 'react';
import { useConnection } from '../api/connection.js';
import { LIVE_MS } from '../api/queries.js';
import type { Envelope } from '../api/resources.js';
import { arrivals, withNewer, withOlder, type Arrivals, type EventWindow } from './event-window.js';
import { feedBounds, feedReader, type FeedFilter } from './feed.js';
import { readBackwards } from './read-backwards.js';

const PAGE = 50;
const NEWER_PAGE = 500;
/** A page that was away for longer starts again at the head, because it could not draw what it missed. */
const MAX_BEHIND = 5_000;

/** The events of the feed. */
export interface EventFeed {
  readonly window: EventWindow<Envelope> | undefined;
  readonly head: number;
  readonly error: unknown;
  readonly isReading: boolean;
  /** Events that have come since the list was paused. */
  readonly waiting: Arrivals;
  readonly retry: () => void;
  readonly readOlder: () => void;
  readonly readNewer: () => void;
}

interface State {
  readonly window?: EventWindow<Envelope>;
  readonly head: number;
  readonly error: unknown;
  readonly isReading: boolean;
}

type Work = () => Promise<void>;

interface Actions {
  readonly toHead: () => void;
  /** @param held the window that is shown while the list is paused */
  readonly older: (held: EventWindow<Envelope> | undefined) => void;
  readonly newer: () => void;
}

const NO_EVENTS: EventWindow<Envelope> = { events: [], top: 0, before: null };
const NOTHING: State = { head: 0, error: null, isReading: false };

/**
 * Reads the feed as a window of consecutive events. Each read continues where the one before ended, so no event is left
 * out, however many come.
 * @param from the seq at which the list begins, going back; `undefined`: at the head, with new events added live
 * @param isPaused whether new events wait; the list continues at the same event afterwards
 */
export function useEventFeed({ event, widget }: FeedFilter, from: number | undefined, isPaused: boolean): EventFeed {
  const [state, setState] = useState<State>(NOTHING);
  const [held, setHeld] = useState<EventWindow<Envelope>>();
  const [start, setStart] = useState(0);
  const isStreaming = useConnection((connection) => connection.isStreaming);
  const reportedHead = useConnection((connection) => connection.head);
  const actions = useRef<Actions>(null);
  const isLive = from === undefined;
  const isFiltered = event !== undefined || widget !== undefined;

  useEffect(() => {
    const read = feedReader({ event, widget });
    let isOver = false;
    let isBusy = false;
    const asked = new Set<Work>();
    let window: EventWindow<Envelope> | undefined;

    const show = (changes: Partial<State>) => {
      if (isOver) return;
      if (changes.window !== undefined) window = changes.window;
      setState((known) => ({ ...known, ...changes }));
    };
    /** One read at a time, so that each continues where the one before ended. Others wait for their turn. */
    const alone = async (work: Work) => {
      asked.add(work);
      if (isBusy) return;
      isBusy = true;
      // Work that is asked for meanwhile is visited, too.
      for (const next of asked) {
        asked.delete(next);
        try {
          await next();
          show({ error: null });
        } catch (error) {
          show({ error });
        }
        if (isOver) return;
      }
      isBusy = false;
    };
    /** A read for the user, who sees that it is under way. */
    const forUser = (work: Work) => {
      show({ isReading: true });
      void alone(async () => {
        try {
          await work();
        } finally {
          show({ isReading: false });
        }
      });
    };
    const begin = async () => {
      const { oldest, head } = await feedBounds();
      const top = Math.min(from ?? head, head);
      const page = await readBackwards(read, { before: top + 1, oldest, wanted: PAGE, isFiltered });
      show({ window: { events: page.events.toReversed(), top, before: page.before }, head });
    };
    const readToHead = async () => {
      if (window === undefined) return begin();
      for (let next: number | null = window.top; next !== null && !isOver;) {
        const page = await read(next, NEWER_PAGE);
        if (page.head - window.top > MAX_BEHIND) return begin();
        next = page.next;
        const top = next ?? Math.max(page.head, page.events.at(-1)?.seq ?? 0);
        if (top > window.top) show({ window: withNewer(window, page.events, top), head: page.head });
      }
    };
    actions.current = {
      toHead: () => {
        // A hidden tab has no stream and asks for nothing. It opens its stream when it is shown, and then reads.
        if (document.visibilityState !== 'hidden') void alone(readToHead);
      },
      older: (held) => {
        forUser(async () => {
          const before = (held ?? window)?.before ?? null;
          if (before === null) return;
          const { oldest } = await feedBounds();
          const page = await readBackwards(read, { before, oldest, wanted: PAGE, isFiltered });
          // The live window may have lost its oldest events while the other one was held.
          if (window?.before === before) show({ window: withOlder(window, page.events, page.before) });
          if (isOver) return;
          setHeld((known) => (known?.before === before ? withOlder(known, page.events, page.before) : known));
        });
      },
      newer: () => {
        forUser(async () => {
          if (window === undefined) return;
          const page = await read(window.top, PAGE);
          const top = page.next ?? page.head;
          show({ window: withNewer(window, page.events, top), head: page.head });
        });
      },
    };
    void alone(begin);
    return () => {
      isOver = true;
      actions.current = null;
      setState(NOTHING);
      setHeld(undefined);
    };
  }, [event, widget, isFiltered, from, start]);

  useEffect(() => {
    if (isLive) actions.current?.toHead();
  }, [isLive, reportedHead, isStreaming]);

  const hasFailed = state.error !== null;
  useEffect(() => {
    if (!isLive || (isStreaming && !hasFailed)) return undefined;
    const timer = setInterval(() => actions.current?.toHead(), LIVE_MS);
    return () => {
      clearInterval(timer);
    };
  }, [isLive, isStreaming, hasFailed]);

  // A list that begins at a seq grows only when its user asks, also if the list was paused before.
  const isHeld = isLive && isPaused;
  if (isHeld && held === undefined && state.window !== undefined) setHeld(state.window);
  if (!isHeld && held !== undefined) setHeld(undefined);
  const shown = isHeld ? (held ?? state.window) : state.window;
  return {
    window: shown,
    head: Math.max(state.head, isLive ? 0 : reportedHead),
    error: state.error,
    isReading: state.isReading,
    waiting: arrivals(state.window ?? NO_EVENTS, shown?.top ?? 0, isFiltered),
    retry: () => {
      // A new start would take away older events that its user has read back to.
      if (isLive && state.window !== undefined) actions.current?.toHead();
      else setStart((count) => count + 1);
    },
    readOlder: () => actions.current?.older(held),
    readNewer: () => actions.current?.newer(),
  };
}
