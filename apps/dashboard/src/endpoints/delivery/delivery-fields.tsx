import { useState } from 'react';
import { Checkbox, SelectField, TextArea, TextField } from '../../ui/field.js';
import { AuthFields } from './auth-fields.js';
import { CertificateFields } from './certificate-fields.js';
import { DELIVERY_MEMBERS, isUnusual, type DeliveryDraft, type ShownDelivery } from './delivery-draft.js';
import { FilterField } from './filter-field.js';
import './delivery-fields.css';

interface DeliveryFieldsProps {
  /** The event types that are chosen. */
  readonly events: ReadonlySet<string>;
  readonly draft: DeliveryDraft;
  /** The settings as they are stored. */
  readonly shown: ShownDelivery;
  readonly onChange: (draft: DeliveryDraft) => void;
  /** Returns the problem that the api found with a member of the request. */
  readonly problemOf: (member: string) => string | undefined;
}

/** What most endpoints never need, folded. */
export function DeliveryFields({ events, draft, shown, onChange, problemOf }: DeliveryFieldsProps) {
  const change = (part: Partial<DeliveryDraft>) => {
    onChange({ ...draft, ...part });
  };
  const isRefused = DELIVERY_MEMBERS.some((name) => problemOf(name) !== undefined);
  const [isOpen, setOpen] = useState(() => isUnusual(shown));
  return (
    <details
      className="delivery-fields"
      // A refusal opens it. It stays open when the field is corrected.
      open={isOpen || isRefused}
      onToggle={(event) => {
        setOpen(event.currentTarget.open);
      }}
    >
      <summary>Delivery</summary>
      <div className="delivery-fields-body">
        <FilterField
          events={events}
          filter={draft.filter}
          onChange={(filter) => {
            change({ filter });
          }}
          problem={problemOf('filter')}
        />
        <div className="columns-2">
          <TextField
            label="At most per second"
            inputMode="numeric"
            placeholder="No limit"
            value={draft.maxPerSecond}
            onChange={(event) => {
              change({ maxPerSecond: event.target.value });
            }}
            error={problemOf('max_per_second')}
          />
          <TextField
            label="At most at the same time"
            inputMode="numeric"
            placeholder="No limit"
            value={draft.maxInFlight}
            onChange={(event) => {
              change({ maxInFlight: event.target.value });
            }}
            error={problemOf('max_in_flight')}
          />
        </div>
        <div className="columns-2">
          <SelectField
            label="Order"
            value={draft.orderedBy}
            onChange={(event) => {
              change({ orderedBy: event.target.value as DeliveryDraft['orderedBy'] });
            }}
            hint="In an order, an event waits until the one before it is delivered or has failed."
            error={problemOf('ordering/batch') === undefined ? problemOf('ordering') : undefined}
          >
            <option value="none">None</option>
            <option value="endpoint">By sequence number</option>
            <option value="subject">By subject: conversation, ticket, …</option>
          </SelectField>
          {draft.orderedBy !== 'none' && (
            <TextField
              label="Events in a request, at most"
              inputMode="numeric"
              value={draft.batch}
              onChange={(event) => {
                change({ batch: event.target.value });
              }}
              hint="With more than 1, the body is a list of events."
              error={problemOf('ordering/batch')}
            />
          )}
        </div>
        <UrgentTypes events={events} draft={draft} onChange={change} problem={problemOf('urgent')} />
        <Checkbox
          checked={draft.respectsRetryAfter}
          onChange={(event) => {
            change({ respectsRetryAfter: event.target.checked });
          }}
          hint="Retry-After of a 429 or 503 moves the next attempt later."
        >
          Respect Retry-After
        </Checkbox>
        <Checkbox
          checked={draft.disablesOnGone}
          onChange={(event) => {
            change({ disablesOnGone: event.target.checked });
          }}
        >
          Disable the endpoint when it answers 410 Gone
        </Checkbox>
        <Checkbox
          checked={draft.isAsymmetric}
          onChange={(event) => {
            change({ isAsymmetric: event.target.checked });
          }}
          hint="A second signature in webhook-signature, by the keys of /.well-known/jwks.json."
        >
          Sign with Ed25519, too
        </Checkbox>
        <Checkbox
          checked={draft.sendsLegacySignature}
          onChange={(event) => {
            change({ sendsLegacySignature: event.target.checked });
          }}
        >
          Send the deprecated X-Webhook-Signature
        </Checkbox>
        <Checkbox
          checked={draft.sendsPreviousSequence}
          onChange={(event) => {
            change({ sendsPreviousSequence: event.target.checked });
          }}
          hint="X-Service-Previous-Sequence names the event before this one that was for the endpoint, so that a receiver sees what is missing."
        >
          Send the previous sequence
        </Checkbox>
        <TextArea
          label="Additional headers"
          rows={2}
          className="mono"
          placeholder="X-Tenant: acme"
          value={draft.headers}
          onChange={(event) => {
            change({ headers: event.target.value });
          }}
          hint={headersHint(shown.header_names)}
          error={problemOf('headers')}
        />
        <AuthFields draft={draft} shown={shown} onChange={change} problemOf={problemOf} />
        <CertificateFields draft={draft} shown={shown} onChange={change} problemOf={problemOf} />
      </div>
    </details>
  );
}

interface UrgentTypesProps {
  readonly events: ReadonlySet<string>;
  readonly draft: DeliveryDraft;
  readonly onChange: (part: Partial<DeliveryDraft>) => void;
  readonly problem: string | undefined;
}

/** Which event types pass others that wait. */
function UrgentTypes({ events, draft, onChange, problem }: UrgentTypesProps) {
  const offered = [...new Set([...draft.urgentTypes, ...events])].sort();
  return (
    <>
      <SelectField
        label="Urgent events"
        value={draft.urgency}
        onChange={(event) => {
          onChange({ urgency: event.target.value as DeliveryDraft['urgency'] });
        }}
        hint={
          draft.orderedBy === 'none'
            ? 'They pass other events that wait for this endpoint.'
            : 'With an order, no event passes another one.'
        }
        error={problem}
      >
        <option value="usual">Alerts for waiting chats</option>
        <option value="none">None</option>
        <option value="chosen">Chosen types</option>
      </SelectField>
      {draft.urgency === 'chosen' && (
        <fieldset className="stack-tight">
          <legend className="field-label">Urgent types</legend>
          {offered.length === 0 && <p className="muted">Choose event types first.</p>}
          {offered.map((type) => (
            <Checkbox
              key={type}
              checked={draft.urgentTypes.includes(type)}
              onChange={({ target }) => {
                const others = draft.urgentTypes.filter((other) => other !== type);
                onChange({ urgentTypes: target.checked ? [...others, type].sort() : others });
              }}
            >
              {type}
            </Checkbox>
          ))}
        </fieldset>
      )}
    </>
  );
}

function headersHint(names: readonly string[]): string {
  const rule = 'One per line. Values are never shown again.';
  return names.length === 0 ? rule : `${rule} Sent now: ${names.join(', ')}. A name without a value removes it.`;
}
