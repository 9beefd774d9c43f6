import { isFeedFilter, parseWidgetId, SEQ_NONE, type Seq } from '#libs/domain';
import type { FeedQuery } from '#libs/feed-store';
import { QueryParameters } from '../http/query-parameters.js';

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 100;

/**
 * Reads the query of the feed (spec 4.2; decisions, section 5).
 * @throws GaplessError `malformed_request`, `validation_failed`, `unknown_event_type`
 */
export function parseFeedQuery(query: unknown): FeedQuery {
  const parameters = new QueryParameters(query, ['since', 'limit', 'event', 'widget_id']);
  const since = parameters.integer('since', 0, Number.MAX_SAFE_INTEGER) ?? SEQ_NONE;
  const limit = parameters.integer('limit', 1, MAX_LIMIT) ?? DEFAULT_LIMIT;
  const event = parameters.text('event');
  if (event !== undefined && !isFeedFilter(event)) {
    parameters.refuse('event', 'unknown_event_type', 'is not an event type');
  }
  const widgetId = parameters.read('widget_id', parseWidgetId, 'must be a UUID');
  parameters.throwIfAny();
  return {
    since: since as Seq,
    limit,
    ...(event === undefined ? {} : { event }),
    ...(widgetId === undefined ? {} : { widgetId }),
  };
}
