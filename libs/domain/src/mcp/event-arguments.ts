import { eventScope, isEventType } from '../events/index.js';
import { parseWidgetId, type WidgetId } from '../kernel/index.js';
import { MAX_FILTER, MAX_SUBJECT, subjectPath, type ContentArguments } from './subscription-filter.js';

/** The arguments of a subscription, or why they are refused. */
export type EventArguments =
  | ({ readonly kind: 'valid'; readonly widgetId: WidgetId | undefined } & ContentArguments)
  | { readonly kind: 'invalid'; readonly detail: string };

/** Characters that a filter must not have: all but tabs and line breaks, as those of endpoints. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const UNPRINTABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]|\p{Surrogate}/u;

function invalid(detail: string): EventArguments {
  return { kind: 'invalid', detail };
}

/** Whether it is a text with at most so many characters. */
function isText(value: unknown, most: number): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= most;
}

/**
 * Reads the arguments of a subscription to the type, as its `inputSchema` describes them. Whether `filter` is an
 * expression is not checked.
 */
export function readEventArguments(name: string, given: Readonly<Record<string, unknown>>): EventArguments {
  const known = new Set(['filter']);
  if (isEventType(name) && eventScope(name) === 'widget') known.add('widget_id');
  if (subjectPath(name) !== null) known.add('subject');
  const unknown = Object.keys(given).find((argument) => !known.has(argument));
  if (unknown !== undefined) return invalid(`${name} has no argument ${JSON.stringify(unknown.slice(0, 100))}.`);
  const { widget_id: widget, subject, filter } = given;
  const widgetId = parseWidgetId(widget);
  if (widget !== undefined && widgetId === undefined) return invalid('widget_id must be a UUID.');
  if (subject !== undefined && (!isText(subject, MAX_SUBJECT) || /\p{C}/u.test(subject))) {
    return invalid(`subject must be an id of 1 to ${MAX_SUBJECT} characters.`);
  }
  if (filter !== undefined && (!isText(filter, MAX_FILTER) || UNPRINTABLE.test(filter))) {
    return invalid(`filter must be an expression of 1 to ${MAX_FILTER} characters.`);
  }
  return { kind: 'valid', widgetId, subject, filter };
}
