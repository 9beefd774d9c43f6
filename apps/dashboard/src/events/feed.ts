import { api, bodyOf } from '../api/client.js';
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
    const asking = api.GET('/api/v1/external/events', { params: { query } });
    const page = await bodyOf(asking);
    // The description also has the text of the stream, which is sent only on request.
    if (typeof page === 'string') throw new TypeError('the feed was answered as a stream');
    return { events: page.data, next: page.next_seq, head: seqIn((await asking).response, 'x-head-sequence') };
  };
}

/** Returns the first and the last seq of the feed; 0 and 0 for an org without events. */
export async function feedBounds(): Promise<{ readonly oldest: number; readonly head: number }> {
  const { response, error } = await api.GET('/api/v1/external/events', { params: { query: { limit: 1 } } });
  if (!response.ok) throw apiProblem(response.status, error);
  return { oldest: seqIn(response, 'x-oldest-sequence'), head: seqIn(response, 'x-head-sequence') };
}

function seqIn(response: Response, header: string): number {
  return Number(response.headers.get(header) ?? 0);
}
