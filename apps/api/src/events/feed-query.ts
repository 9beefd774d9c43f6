import { isFeedFilter, parseWidgetId, SEQ_NONE, type Seq } from '#libs/domain';
import type { FeedQuery } from '#libs/postgres';
import { parseCursorName } from '../cursors/cursor-name.js';
import { QueryParameters, type PageLimits } from '../http/query-parameters.js';

export const FEED_PAGE: PageLimits = { max: 1_000, fallback: 100 };
const MAX_WAIT_SECONDS = 30;

/** A query of the feed. */
export interface FeedRequest {
  readonly query: FeedQuery;
  /** Whether `since` was given: a stream without it begins at the head. */
  readonly hasSince: boolean;
  /** The cursor after whose position the page begins. */
  readonly cursor: string | undefined;
  /** How long to wait for an event when there is none yet; 0: not at all. */
  readonly waitSeconds: number;
}

/**
 * Reads the query of the feed (contract 5.4).
 * @throws GaplessError `malformed_request`, `validation_failed`, `unknown_event_type`
 */
export function parseFeedQuery(query: unknown): FeedRequest {
  const parameters = new QueryParameters(
    query,
    ['since', 'cursor', 'until', 'limit', 'event', 'widget_id', 'wait', 'order'],
    ['event'],
  );
  const since = parameters.integer('since', 0, Number.MAX_SAFE_INTEGER);
  const until = parameters.integer('until', 0, Number.MAX_SAFE_INTEGER);
  const cursor = parameters.read('cursor', parseCursorName, 'must be the name of a cursor');
  if (since !== undefined && cursor !== undefined) {
    parameters.refuse('cursor', 'not_allowed', 'must not be used together with since');
  }
  const limit = parameters.limit(FEED_PAGE);
  const waitSeconds = parameters.integer('wait', 1, MAX_WAIT_SECONDS) ?? 0;
  const events = [...new Set(parameters.texts('event'))];
  if (!events.every(isFeedFilter)) parameters.refuse('event', 'unknown_event_type', 'is not an event type');
  const order = parameters.text('order') ?? 'asc';
  if (order !== 'asc' && order !== 'desc') parameters.refuse('order', 'not_allowed', 'must be asc or desc');
  // Only the future can be waited for.
  if (waitSeconds > 0 && (order === 'desc' || until !== undefined)) {
    parameters.refuse('wait', 'not_allowed', 'must not be combined with until or order=desc');
  }
  const widgetId = parameters.read('widget_id', parseWidgetId, 'must be a UUID');
  parameters.throwIfAny();
  return {
    query: {
      since: (since ?? SEQ_NONE) as Seq,
      limit,
      ...(until === undefined ? {} : { until: until as Seq }),
      ...(events.length === 0 ? {} : { events }),
      ...(widgetId === undefined ? {} : { widgetId }),
      ...(order === 'desc' ? { isDescending: true } : {}),
    },
    hasSince: since !== undefined,
    cursor,
    waitSeconds,
  };
}

/** @throws GaplessError `validation_failed` if the query looks back, which a stream cannot */
export function refuseLookBack({ until, isDescending }: FeedQuery): void {
  const names = [...(until === undefined ? [] : ['until']), ...(isDescending === true ? ['order'] : [])];
  const parameters = new QueryParameters({}, []);
  for (const name of names) parameters.refuse(name, 'not_allowed', 'must not be given for a stream');
  parameters.throwIfAny();
}

/**
 * Reads `Last-Event-ID`, the seq after which a stream resumes. An empty header counts as absent.
 * @throws GaplessError `malformed_request`, `validation_failed`
 */
export function parseLastEventId(header: string | string[] | undefined): Seq | undefined {
  const parameters = new QueryParameters({ 'Last-Event-ID': header ?? '' }, ['Last-Event-ID']);
  const seq = parameters.integer('Last-Event-ID', 0, Number.MAX_SAFE_INTEGER);
  parameters.throwIfAny();
  return seq as Seq | undefined;
}
