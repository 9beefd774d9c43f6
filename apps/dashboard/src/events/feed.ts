import { api, bodyOf } from '../api/client.js';
import { apiProblem } from '../api/api-problem.js';
import type { Envelope } from '../api/resources.js';
import type { ReadFeed } from './read-backwards.js';

/** Which events of the feed. */
export interface FeedFilter {
  readonly event?: string | undefined;
  readonly widget?: string | undefined;
}

export function feedReader({ event, widget }: FeedFilter): ReadFeed<Envelope> {
  return async (since, limit) => {
    // Whether there is such a type is for the api to say.
    const query = { since, limit, event: event as Envelope['event'] | undefined, widget_id: widget };
    const page = await bodyOf(api.GET('/api/v1/external/events', { params: { query } }));
    // The description has the stream's text as well, which is sent only to who asks for it.
    if (typeof page === 'string') throw new TypeError('the feed was answered as a stream');
    return { events: page.data, next: page.next_seq };
  };
}

/** The first and the last seq that the feed holds; 0 and 0 of an org without events. */
export async function feedBounds(): Promise<{ readonly oldest: number; readonly head: number }> {
  const { response, error } = await api.GET('/api/v1/external/events', { params: { query: { limit: 1 } } });
  if (!response.ok) throw apiProblem(response.status, error);
  const seqOf = (header: string) => Number(response.headers.get(header) ?? 0);
  return { oldest: seqOf('x-oldest-sequence'), head: seqOf('x-head-sequence') };
}

const REOPEN_MS = 3_000;

interface FollowOptions {
  readonly filter: FeedFilter;
  /** The seq behind which to begin. */
  readonly since: number;
  /** Every type that there is: the stream names its events by them. */
  readonly types: readonly string[];
  readonly onEvent: (envelope: Envelope) => void;
  readonly onState: (state: 'live' | 'reconnecting') => void;
}

/** Follows the feed as a stream until the returned function is called; goes on where it was after a break. */
export function followFeed({ filter, since, types, onEvent, onState }: FollowOptions): () => void {
  let last = since;
  let source: EventSource;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const open = () => {
    const query = new URLSearchParams({ since: String(last) });
    if (filter.event !== undefined) query.set('event', filter.event);
    if (filter.widget !== undefined) query.set('widget_id', filter.widget);
    source = new EventSource(`/api/v1/external/events?${query.toString()}`);
    source.onopen = () => {
      onState('live');
    };
    source.onerror = () => {
      onState('reconnecting');
      // The browser goes on by itself after a break; not after an answer that it does not like, such as a 503.
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, REOPEN_MS);
    };
    const take = ({ data, lastEventId }: MessageEvent<string>) => {
      last = Number(lastEventId);
      onEvent(JSON.parse(data) as Envelope);
    };
    for (const type of types) source.addEventListener(type, take);
  };
  open();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}
