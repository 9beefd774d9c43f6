import { Radio, TextArea } from '../ui/field.js';
import type { WidgetScopeDraft } from './widget-scope.js';

interface ScopePickerProps {
  readonly draft: WidgetScopeDraft;
  readonly onChange: (draft: WidgetScopeDraft) => void;
  readonly error: string | undefined;
}

const KINDS = [
  {
    kind: 'every',
    text: 'Every widget',
    json: 'null',
    hint: 'Events of all widgets, including later ones, and org-wide events.',
  },
  {
    kind: 'none',
    text: 'Org-wide events only',
    json: '[]',
    hint: 'Only events without a widget: help desk content, identity verification and fraud.',
  },
  {
    kind: 'some',
    text: 'Only these widgets',
    json: '[…]',
    hint: 'Events of the widgets that you list, and org-wide events.',
  },
] as const;

export function ScopePicker({ draft, onChange, error }: ScopePickerProps) {
  return (
    <fieldset className="stack-tight">
      <legend className="legend">Widgets</legend>
      {KINDS.map(({ kind, text, json, hint }) => (
        <Radio
          key={kind}
          name="widget-scope"
          checked={draft.kind === kind}
          onChange={() => {
            onChange({ ...draft, kind });
          }}
          hint={hint}
        >
          {text} <code className="muted">widget_ids: {json}</code>
        </Radio>
      ))}
      {draft.kind === 'some' && (
        <TextArea
          label="Widget ids"
          className="mono"
          rows={3}
          spellCheck={false}
          placeholder="0f9b3c52-6a1e-4d27-9a45-3f0f8c1d7e21"
          hint="One in each line, or separated by commas."
          value={draft.text}
          onChange={(event) => {
            onChange({ ...draft, text: event.target.value });
          }}
          error={error}
        />
      )}
    </fieldset>
  );
}
