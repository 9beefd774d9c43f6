import { useState, type ReactNode, type SyntheticEvent } from 'react';
import { ApiProblem } from '../api/api-problem.js';
import type { NewEndpoint } from '../api/resources.js';
import { Button } from '../ui/button.js';
import { Card } from '../ui/card.js';
import { TextArea, TextField } from '../ui/field.js';
import { FailureNotice } from '../ui/notice.js';
import { DeliveryFields } from './delivery/delivery-fields.js';
import {
  deliveryChange,
  deliveryDraft,
  USUAL_DELIVERY,
  type DeliveryChange,
  type ShownDelivery,
} from './delivery/delivery-draft.js';
import { EventPicker } from './event-picker.js';
import { ScopePicker } from './scope-picker.js';
import { parseWidgetScope, widgetScopeDraft } from './widget-scope.js';
import './endpoint-form.css';

/** The values of the form: the initial ones, and those that are submitted. */
export type EndpointDraft = Pick<NewEndpoint, 'url' | 'events'> & {
  readonly name: string | null;
  readonly description: string | null;
  readonly widget_ids: string[] | null;
};

/** The values that are submitted. Delivery settings that were not changed are missing. */
export type SubmittedEndpoint = EndpointDraft & DeliveryChange;

interface EndpointFormProps {
  readonly initial: EndpointDraft & Partial<ShownDelivery>;
  readonly submitText: string;
  readonly busy: boolean;
  /** Why the api refused the last submission. */
  readonly failure: unknown;
  readonly cancel: ReactNode;
  readonly onSubmit: (endpoint: SubmittedEndpoint) => void;
}

const URL_CODES = new Set(['url_not_https', 'url_private_network', 'url_unresolvable', 'url_invalid']);

export function EndpointForm({ initial, submitText, busy, failure, cancel, onSubmit }: EndpointFormProps) {
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
  const refused = refusals(failure);

  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    setTried(true);
    if (parsedScope.kind === 'wrong' || eventsProblem !== undefined) return;
    onSubmit({
      url: url.trim(),
      name: name.trim() === '' ? null : name.trim(),
      description: description.trim() === '' ? null : description.trim(),
      events: [...events] as EndpointDraft['events'],
      widget_ids: parsedScope.widgetIds,
      ...deliveryChange(delivery, shownDelivery),
    });
  };

  return (
    <form onSubmit={submit} className="stack">
      {refused.other !== undefined && <FailureNotice error={refused.other} />}
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
                setDescription(event.target.value);
              }}
              error={refused.description}
            />
          </div>
          <EventPicker
            chosen={events}
            onChange={setEvents}
            error={isTried ? (eventsProblem ?? refused.events) : undefined}
          />
          <ScopePicker
            draft={scope}
            onChange={setScope}
            error={isTried && parsedScope.kind === 'wrong' ? parsedScope.reason : refused.widgetIds}
          />
          <DeliveryFields draft={delivery} shown={shownDelivery} onChange={setDelivery} problemOf={refused.delivery} />
        </div>
      </Card>
      <div className="form-actions">
        {cancel}
        <Button type="submit" look="solid" busy={busy}>
          {submitText}
        </Button>
      </div>
    </form>
  );
}

const DELIVERY_MEMBERS = ['headers', 'auth', 'max_per_second', 'max_in_flight', 'signatures'];

/** Returns the problems that the api found, by field. */
function refusals(failure: unknown) {
  const nothing = { url: undefined, name: undefined, description: undefined, events: undefined, widgetIds: undefined };
  const noDelivery = (): string | undefined => undefined;
  if (failure === null || failure === undefined) return { ...nothing, delivery: noDelivery, other: undefined };
  if (!(failure instanceof ApiProblem)) return { ...nothing, delivery: noDelivery, other: failure };
  const found = {
    url: URL_CODES.has(failure.code) ? failure.message : failure.problemOf('url'),
    name: failure.problemOf('name'),
    description: failure.problemOf('description'),
    events: failure.problemOf('events'),
    widgetIds: failure.problemOf('widget_ids'),
  };
  const delivery = (member: string) => failure.problemOf(member);
  const isPlaced = [...Object.values(found), ...DELIVERY_MEMBERS.map(delivery)].some(
    (problem) => problem !== undefined,
  );
  return { ...found, delivery, other: isPlaced ? undefined : failure };
}
