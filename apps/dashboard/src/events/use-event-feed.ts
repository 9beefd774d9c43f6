import { useEffect, useRef, useState } from 'react';
import { useConnection } from '../api/connection.js';
import type { Envelope } from '../api/resources.js';
import { MAX_EVENTS, withNewer, withOlder, type EventWindow } from './event-window.js';
import { feedBounds, feedReader, type FeedFilter } from './feed.js';
import { readBackwards } from './read-backwards.js';

const PAGE = 50;
const NEWER_PAGE = 500;
/** Without the stream of changes, the feed is asked this often. */
const ASK_EVERY_MS = 3_000;
/** A page that was away for longer starts again at the head, because it could not draw what it missed. */
const MAX_BEHIND = 5_000;

/** The events of the feed. */
export interface EventFeed {
  readonly window: EventWindow<Envelope> | undefined;
  readonly head: number;
  readonly error: unknown;
  readonly isReading: boolean;
  /** Events that have come since the list was paused, at most `MAX_EVENTS`. */
  readonly waiting: number;
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
  const actions = useRef<{ readonly older: () => void; readonly newer: () => void; readonly toHead: () => void }>(null);
  const isLive = from === undefined;

  useEffect(() => {
    const read = feedReader({ event, widget });
    let isOver = false;
    let isBusy = false;
    let isAgain = false;
    let window: EventWindow<Envelope> | undefined;

    const show = (changes: Partial<State>) => {
      if (isOver) return;
      if (changes.window !== undefined) window = changes.window;
      setState((known) => ({ ...known, ...changes }));
    };
    /** One read at a time, so that each continues where the one before ended. */
    const alone = async (work: () => Promise<void>) => {
      if (isBusy) {
        isAgain = true;
        return;
      }
      isBusy = true;
      try {
        await work();
        show({ error: null, isReading: false });
      } catch (error) {
        show({ error, isReading: false });
      }
      isBusy = false;
      if (isAgain && !isOver) {
        isAgain = false;
        if (isLive) toHead();
      }
    };
    const begin = async () => {
      const { oldest, head } = await feedBounds();
      const top = Math.min(from ?? head, head);
      const page = await readBackwards(read, { before: top + 1, oldest, wanted: PAGE });
      show({ window: { events: page.events.toReversed(), top, before: page.before }, head });
    };
    const toHead = () =>
      void alone(async () => {
        if (window === undefined) return begin();
        for (let next: number | null = window.top; next !== null && !isOver;) {
          const page = await read(next, NEWER_PAGE);
          if (page.head - window.top > MAX_BEHIND) return begin();
          next = page.next;
          const top = next ?? Math.max(page.head, page.events.at(-1)?.seq ?? 0);
          if (top > window.top) show({ window: withNewer(window, page.events, top), head: page.head });
        }
      });
    actions.current = {
      toHead,
      older: () => {
        show({ isReading: true });
        void alone(async () => {
          if (window === undefined || window.before === null) return;
          const { oldest } = await feedBounds();
          const page = await readBackwards(read, { before: window.before, oldest, wanted: PAGE });
          show({ window: withOlder(window, page.events, page.before) });
        });
      },
      newer: () => {
        show({ isReading: true });
        void alone(async () => {
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
  }, [event, widget, from, isLive, start]);

  useEffect(() => {
    if (isLive) actions.current?.toHead();
  }, [isLive, reportedHead, isStreaming]);

  useEffect(() => {
    if (!isLive || isStreaming) return undefined;
    const timer = setInterval(() => actions.current?.toHead(), ASK_EVERY_MS);
    return () => {
      clearInterval(timer);
    };
  }, [isLive, isStreaming]);

  if (isPaused && held === undefined && state.window !== undefined) setHeld(state.window);
  if (!isPaused && held !== undefined) setHeld(undefined);
  const shown = isPaused ? (held ?? state.window) : state.window;
  const waiting = shown === undefined ? 0 : (state.window?.events ?? []).filter(({ seq }) => seq > shown.top).length;
  return {
    window: shown,
    head: Math.max(state.head, isLive ? 0 : reportedHead),
    error: state.error,
    isReading: state.isReading,
    waiting: Math.min(waiting, MAX_EVENTS),
    retry: () => {
      setStart((count) => count + 1);
    },
    readOlder: () => actions.current?.older(),
    readNewer: () => actions.current?.newer(),
  };
}
