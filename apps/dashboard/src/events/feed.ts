import { api, bodyOf } from '../api/client.js';
import { openEventStream } from '../api/event-source.js';
import type { EventStream } from '../api/event-stream.js';
import { apiProblem } from '../api/api-problem.js';
import type { Envelope } from '../api/resources.js';
import type { ReadFeed } from './read-backwards.js';

/** A filter of the feed. */
export interface FeedFilter {
  readonly event?: string | undefined;
  readonly widget?: string | undefined;
}

export function feedReader({ event, widget }: FeedFilter): ReadFeed<Envelope> {
  return async (since, limit) => {
    // The api decides whether there is such a type.
    const query = {
      since,
      limit,
      event: event === undefined ? undefined : [event as Envelope['event']],
      widget_id: widget,
    };
    const page = await bodyOf(api.GET('/api/v1/external/events', { params: { query } }));
    // The description also has the text of the stream, which is sent only on request.
    if (typeof page === 'string') throw new TypeError('the feed was answered as a stream');
    return { events: page.data, next: page.next_seq };
  };
}

/** Returns the first and the last seq of the feed; 0 and 0 for an org without events. */
export async function feedBounds(): Promise<{ readonly oldest: number; readonly head: number }> {
  const { response, error } = await api.GET('/api/v1/external/events', { params: { query: { limit: 1 } } });
  if (!response.ok) throw apiProblem(response.status, error);
  const seqOf = (header: string) => Number(response.headers.get(header) ?? 0);
  return { oldest: seqOf('x-oldest-sequence'), head: seqOf('x-head-sequence') };
}

const REOPEN_MS = 3_000;

interface FollowOptions {
  readonly filter: FeedFilter;
  /** The seq after which to begin. */
  readonly since: number;
  /** Every event type, because the stream names its events by type. */
  readonly types: readonly string[];
  readonly onEvent: (envelope: Envelope) => void;
  readonly onState: (state: 'live' | 'reconnecting') => void;
}

/** Follows the feed as a stream until the returned function is called. After a break, it continues where it was. */
export function followFeed({ filter, since, types, onEvent, onState }: FollowOptions): () => void {
  let last = since;
  let source: EventStream;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const open = () => {
    const query = new URLSearchParams({ since: String(last) });
    if (filter.event !== undefined) query.set('event', filter.event);
    if (filter.widget !== undefined) query.set('widget_id', filter.widget);
    source = openEventStream(`/api/v1/external/events?${query.toString()}`);
    source.onopen = () => {
      onState('live');
    };
    source.onerror = () => {
      onState('reconnecting');
      // The browser reconnects by itself after a break, but not after an error status such as 503.
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
