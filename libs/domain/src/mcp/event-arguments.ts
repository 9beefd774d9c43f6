import { eventScope, isEventType } from '../events/index.js';
import { parseWidgetId, type WidgetId } from '../kernel/index.js';

/** The arguments of a subscription, or why they are refused. */
export type EventArguments =
  | { readonly kind: 'valid'; readonly widgetId: WidgetId | undefined }
  | { readonly kind: 'invalid'; readonly detail: string };

function invalid(detail: string): EventArguments {
  return { kind: 'invalid', detail };
}

/** Reads the arguments of a subscription to the type, as its `inputSchema` describes them. */
export function readEventArguments(name: string, given: Readonly<Record<string, unknown>>): EventArguments {
  const isOfWidgets = isEventType(name) && eventScope(name) === 'widget';
  const unknown = Object.keys(given).find((argument) => argument !== 'widget_id' || !isOfWidgets);
  if (unknown !== undefined) return invalid(`${name} has no argument ${JSON.stringify(unknown.slice(0, 100))}.`);
  if (given['widget_id'] === undefined) return { kind: 'valid', widgetId: undefined };
  const widgetId = parseWidgetId(given['widget_id']);
  return widgetId === undefined ? invalid('widget_id must be a UUID.') : { kind: 'valid', widgetId };
}
