import { useEffect, useRef, useState, type ReactNode, type SyntheticEvent } from 'react';
import { ApiProblem, readableText } from '../api/api-problem.js';
import { Button } from '../ui/button.js';
import { Card } from '../ui/card.js';
import { focusFirstError, TextArea, TextField } from '../ui/field.js';
import { FailureNotice } from '../ui/notice.js';
import { DeliveryFields } from './delivery/delivery-fields.js';
import {
  DELIVERY_MEMBERS,
  deliveryChange,
  deliveryDraft,
  headersProblem,
  USUAL_DELIVERY,
  type DeliveryChange,
  type ShownDelivery,
} from './delivery/delivery-draft.js';
import { endpointChange, textOf, type EndpointDraft, type SubmittedEndpoint } from './endpoint-draft.js';
import { EventPicker } from './event-picker.js';
import { ScopePicker } from './scope-picker.js';
import { parseWidgetScope, widgetScopeDraft } from './widget-scope.js';
import './endpoint-form.css';

interface EndpointFormProps {
  /** The values that the form begins with. Later ones are ignored, so that a refetch does not disturb the user. */
  readonly initial: EndpointDraft & Partial<ShownDelivery>;
  readonly submitText: string;
  readonly busy: boolean;
  /** Why the api refused the last submission. */
  readonly failure: unknown;
  readonly cancel: ReactNode;
  /** @param changes the members that differ from the initial ones */
  readonly onSubmit: (endpoint: SubmittedEndpoint, changes: Partial<EndpointDraft> & DeliveryChange) => void;
}

const URL_CODES = new Set(['url_not_https', 'url_private_network', 'url_unresolvable', 'url_invalid']);

export function EndpointForm({ initial: given, submitText, busy, failure, cancel, onSubmit }: EndpointFormProps) {
  const [initial] = useState(given);
  const [url, setUrl] = useState(initial.url);
  const [name, setName] = useState(initial.name ?? '');
  const [description, setDescription] = useState(initial.description ?? '');
  const [events, setEvents] = useState<ReadonlySet<string>>(() => new Set(initial.events));
  const [scope, setScope] = useState(() => widgetScopeDraft(initial.widget_ids));
  const shownDelivery = { ...USUAL_DELIVERY, ...initial };
  const [delivery, setDelivery] = useState(() => deliveryDraft(shownDelivery));
  const [isTried, setTried] = useState(false);
  const parsedScope = parseWidgetScope(scope);
  const eventsProblem = events.size === 0 ? 'Choose at least one event type.' : undefined;
  const wrongHeaders = headersProblem(delivery.headers, shownDelivery);
  // A refusal is about what was submitted. It goes when its field is changed.
  const [changed, setChanged] = useState<ReadonlySet<Member>>(() => new Set());
  const change = (member: Member) => {
    setChanged((members) => new Set([...members, member]));
  };
  const refused = refusals(failure, changed);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (failure !== null && failure !== undefined) focusFirstError(form.current);
  }, [failure]);

  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (busy) return;
    setTried(true);
    if (parsedScope.kind === 'wrong' || eventsProblem !== undefined || wrongHeaders !== undefined) {
      focusFirstError(form.current);
      return;
    }
    setChanged(new Set());
    const draft = {
      url: url.trim(),
      name: textOf(name),
      description: textOf(description),
      events: [...events] as EndpointDraft['events'],
      widget_ids: parsedScope.widgetIds,
    };
    const ofDelivery = deliveryChange(delivery, shownDelivery);
    onSubmit({ ...draft, ...ofDelivery }, { ...endpointChange(draft, initial), ...ofDelivery });
  };

  return (
    <form ref={form} onSubmit={submit} className="stack">
      <Card>
        <div className="endpoint-form">
          <TextField
            label="URL"
            type="url"
            required
            placeholder="https://example.com/webhooks/gapless"
            maxLength={2_048}
            className="mono"
            autoFocus={initial.url === ''}
            value={url}
            onChange={(event) => {
              change('url');
              setUrl(event.target.value);
            }}
            hint="Public and https. Respond with any 2xx within 10 seconds, and do the work afterwards."
            error={refused.url}
          />
          <div className="columns-2">
            <TextField
              label="Name (optional)"
              placeholder="CRM sync"
              maxLength={120}
              value={name}
              onChange={(event) => {
                change('name');
                setName(event.target.value);
              }}
              error={refused.name}
            />
            <TextArea
              label="Description (optional)"
              rows={1}
              maxLength={1_000}
              value={description}
              onChange={(event) => {
                change('description');
                setDescription(event.target.value);
              }}
              error={refused.description}
            />
          </div>
          <EventPicker
            chosen={events}
            onChange={(next) => {
              change('events');
              setEvents(next);
            }}
            error={isTried ? (eventsProblem ?? refused.events) : undefined}
          />
          <ScopePicker
            draft={scope}
            onChange={(next) => {
              change('widgetIds');
              setScope(next);
            }}
            error={isTried && parsedScope.kind === 'wrong' ? parsedScope.reason : refused.widgetIds}
          />
          <DeliveryFields
            events={events}
            draft={delivery}
            shown={shownDelivery}
            onChange={(next) => {
              change('delivery');
              setDelivery(next);
            }}
            problemOf={(member) => (isTried && member === 'headers' && wrongHeaders) || refused.delivery(member)}
          />
        </div>
      </Card>
      {refused.other !== undefined && !busy && (
        <div data-failure tabIndex={-1}>
          <FailureNotice error={refused.other} />
        </div>
      )}
      <div className="form-actions">
        {cancel}
        <Button type="submit" look="solid" busy={busy}>
          {submitText}
        </Button>
      </div>
    </form>
  );
}

type Member = 'url' | 'name' | 'description' | 'events' | 'widgetIds' | 'delivery';

/** Returns the problems that the api found, by field, without those of fields that were changed since. */
function refusals(failure: unknown, changed: ReadonlySet<Member>) {
  const nothing = { url: undefined, name: undefined, description: undefined, events: undefined, widgetIds: undefined };
  const noDelivery = (): string | undefined => undefined;
  if (failure === null || failure === undefined) return { ...nothing, delivery: noDelivery, other: undefined };
  if (!(failure instanceof ApiProblem)) return { ...nothing, delivery: noDelivery, other: failure };
  const isOfUrl = URL_CODES.has(failure.code) && failure.problemOf('auth') === undefined;
  const found: Record<keyof typeof nothing, string | undefined> = {
    url: isOfUrl ? readableText(failure.message) : failure.problemOf('url'),
    name: failure.problemOf('name'),
    description: failure.problemOf('description'),
    events: failure.problemOf('events'),
    widgetIds: failure.problemOf('widget_ids'),
  };
  const delivery = (member: string) => failure.problemOf(member);
  const isPlaced = [...Object.values(found), ...DELIVERY_MEMBERS.map(delivery)].some(
    (problem) => problem !== undefined,
  );
  const shown = Object.entries(found).filter(([member]) => !changed.has(member as Member));
  return {
    ...nothing,
    ...(Object.fromEntries(shown) as Partial<typeof found>),
    delivery: changed.has('delivery') ? noDelivery : delivery,
    other: isPlaced ? undefined : failure,
  };
}
