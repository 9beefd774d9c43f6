/** `ticket.created`, `ticket.created and 3 more`, `All 49 event types` */
export function eventsText(events: readonly string[], catalogSize: number | undefined): string {
  const [first = ''] = events;
  if (events.length === 1) return first;
  return catalogSize !== undefined && events.length >= catalogSize
    ? 'All event types'
    : `${first} and ${events.length - 1} more`;
}

/** Returns a widget scope (every, none, some) in a few words. */
export function scopeText(widgetIds: readonly string[] | null): string {
  if (widgetIds === null) return 'Every widget';
  if (widgetIds.length === 0) return 'Org-wide events only';
  return widgetIds.length === 1 ? '1 widget' : `${widgetIds.length} widgets`;
}
