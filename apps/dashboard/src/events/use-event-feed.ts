import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Envelope } from '../api/resources.js';
import { feedBounds, feedReader, followFeed, type FeedFilter } from './feed.js';
import { readBackwards } from './read-backwards.js';

const PAGE = 50;
/** The number of live events to keep. Older ones are read again if needed. */
const MAX_LIVE = 500;
/** Live events are shown in steps of this length, not one by one. */
const GATHER_MS = 150;

export type LiveState = 'live' | 'reconnecting' | 'off';

/** The events of the feed, newest first. */
export interface EventFeed {
  readonly events: readonly Envelope[] | undefined;
  readonly error: unknown;
  readonly retry: () => void;
  readonly live: LiveState;
  readonly olderAreThere: boolean;
  readonly isReadingOlder: boolean;
  readonly readOlder: () => void;
}

/**
 * @param from the seq at which the list begins, going back; `undefined`: at the head, with new events added live
 * @param types the catalog, which following needs; `undefined` until it is known
 */
export function useEventFeed(
  filter: FeedFilter,
  from: number | undefined,
  types: readonly string[] | undefined,
): EventFeed {
  const isLive = from === undefined;
  const bounds = useInfiniteQuery({
    queryKey: ['feed', filter.event, filter.widget, from],
    queryFn: async ({ pageParam }) => {
      const { oldest, head } = await feedBounds();
      const before = pageParam ?? (from ?? head) + 1;
      return { ...(await readBackwards(feedReader(filter), { before, oldest, wanted: PAGE })), head };
    },
    initialPageParam: undefined as number | undefined,
    getNextPageParam: (page) => page.before ?? undefined,
    staleTime: Infinity,
    gcTime: 0,
  });
  const head = bounds.data?.pages[0]?.head;
  const arrived = useArrivals(filter, isLive ? head : undefined, types);
  const read = bounds.data?.pages.flatMap(({ events }) => events.toReversed());
  return {
    events: read && [...arrived.events, ...read],
    error: bounds.error,
    retry: () => void bounds.refetch(),
    live: arrived.state,
    olderAreThere: bounds.hasNextPage,
    isReadingOlder: bounds.isFetchingNextPage,
    readOlder: () => void bounds.fetchNextPage(),
  };
}

/** Returns the events after `head`, newest first. */
function useArrivals({ event, widget }: FeedFilter, head: number | undefined, types: readonly string[] | undefined) {
  const [events, setEvents] = useState<readonly Envelope[]>([]);
  const [state, setState] = useState<LiveState>('off');
  useEffect(() => {
    if (head === undefined || types === undefined) return undefined;
    let gathered: Envelope[] = [];
    const timer = setInterval(() => {
      if (gathered.length === 0) return;
      const fresh = gathered.toReversed();
      gathered = [];
      setEvents((known) => [...fresh, ...known].slice(0, MAX_LIVE));
    }, GATHER_MS);
    const stop = followFeed({
      filter: { event, widget },
      since: head,
      types,
      onEvent: (envelope) => {
        gathered.push(envelope);
      },
      onState: setState,
    });
    return () => {
      clearInterval(timer);
      stop();
      setState('off');
      setEvents([]);
    };
  }, [event, widget, head, types]);
  return { events, state };
}
