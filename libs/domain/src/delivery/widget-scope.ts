import type { WidgetId } from '../kernel/index.js';

/** `null`: every widget; `[]`: org-wide events only; a list: those widgets (contract 7.3). */
export type WidgetScope = readonly WidgetId[] | null;

/** Whether an event of the widget is in scope; org-wide events (`null`) are in every scope. */
export function inWidgetScope(scope: WidgetScope, widgetId: WidgetId | null): boolean {
  return widgetId === null || scope === null || scope.includes(widgetId);
}
