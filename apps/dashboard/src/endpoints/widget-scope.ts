/** The widget scope in the form. Typed text stays when the user selects another kind. */
export interface WidgetScopeDraft {
  readonly kind: 'every' | 'none' | 'some';
  readonly text: string;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function widgetScopeDraft(widgetIds: readonly string[] | null): WidgetScopeDraft {
  if (widgetIds === null) return { kind: 'every', text: '' };
  return widgetIds.length === 0 ? { kind: 'none', text: '' } : { kind: 'some', text: widgetIds.join('\n') };
}

type ParsedScope =
  { readonly kind: 'ok'; readonly widgetIds: string[] | null } | { readonly kind: 'wrong'; readonly reason: string };

/** Returns null for every widget, an empty list for none, otherwise the listed widgets (contract 7.3). */
export function parseWidgetScope({ kind, text }: WidgetScopeDraft): ParsedScope {
  switch (kind) {
    case 'every':
      return { kind: 'ok', widgetIds: null };
    case 'none':
      return { kind: 'ok', widgetIds: [] };
    case 'some': {
      const ids = [...new Set(text.split(/[\s,]+/).filter(Boolean))];
      const wrong = ids.find((id) => !UUID.test(id));
      if (wrong !== undefined)
        return { kind: 'wrong', reason: `“${wrong}” is not the id of a widget: those are UUIDs.` };
      if (ids.length === 0) {
        return { kind: 'wrong', reason: 'Give at least one widget id, or choose “Org-wide events only”.' };
      }
      return { kind: 'ok', widgetIds: ids };
    }
  }
}
