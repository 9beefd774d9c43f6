import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { eventTypesQuery } from '../api/queries.js';
import type { EventType } from '../api/resources.js';
import { Button } from '../ui/button.js';
import { Checkbox, TextField } from '../ui/field.js';
import { FailureNotice } from '../ui/notice.js';
import { SkeletonRows } from '../ui/skeleton.js';
import { familiesOf, isOrgWide, subscribableTypes, type EventFamily } from './event-families.js';
import './event-picker.css';

type EventName = EventType['event'];

interface EventPickerProps {
  readonly chosen: ReadonlySet<string>;
  readonly onChange: (chosen: ReadonlySet<string>) => void;
  readonly error: string | undefined;
}

/** Selects the events of an endpoint: by family, with a search. */
export function EventPicker({ chosen, onChange, error }: EventPickerProps) {
  const [search, setSearch] = useState('');
  const { data: types, error: failure, refetch } = useQuery(eventTypesQuery());
  const all = subscribableTypes(types ?? []);
  const families = familiesOf(all, search);
  const set = (events: readonly EventName[], isChosen: boolean) => {
    const next = new Set(chosen);
    for (const event of events) {
      if (isChosen) next.add(event);
      else next.delete(event);
    }
    onChange(next);
  };

  return (
    <fieldset className="picker" aria-describedby={error === undefined ? undefined : 'picker-error'}>
      <legend className="legend">Events</legend>
      <div className="picker-tools">
        <TextField
          label="Search event types"
          labelHidden
          type="search"
          placeholder="Search: ticket, reply, sla …"
          value={search}
          onChange={(event) => {
            setSearch(event.target.value);
          }}
        />
        <span className="picker-count numeric" aria-live="polite">
          {chosen.size} of {all.length}
        </span>
        <Button
          look="ghost"
          onClick={() => {
            set(
              all.map(({ event }) => event),
              chosen.size < all.length,
            );
          }}
        >
          {chosen.size < all.length ? 'Choose all' : 'Choose none'}
        </Button>
      </div>
      <div className="picker-list" tabIndex={-1}>
        {failure !== null && <FailureNotice error={failure} onRetry={() => void refetch()} />}
        {types === undefined && failure === null && <SkeletonRows rows={8} rowHeight="2.5rem" />}
        {families.map((family) => (
          <Family key={family.family} {...{ family, chosen, set }} />
        ))}
        {types !== undefined && families.length === 0 && <p className="picker-none">No event type has this name.</p>}
      </div>
      {error !== undefined && (
        <p id="picker-error" className="field-error">
          {error}
        </p>
      )}
    </fieldset>
  );
}

interface FamilyProps {
  readonly family: EventFamily;
  readonly chosen: ReadonlySet<string>;
  readonly set: (events: readonly EventName[], isChosen: boolean) => void;
}

function Family({ family, chosen, set }: FamilyProps) {
  const events = family.types.map(({ event }) => event);
  const count = events.filter((event) => chosen.has(event)).length;
  return (
    <div className="picker-family" role="group" aria-label={family.title}>
      <div className="picker-family-title">
        <Checkbox
          checked={count === events.length}
          indeterminate={count > 0 && count < events.length}
          onChange={(event) => {
            set(events, event.target.checked);
          }}
        >
          {family.title}
        </Checkbox>
        <span className="muted numeric">
          {count} / {events.length}
        </span>
      </div>
      <div className="picker-types">
        {family.types.map((type) => (
          <Checkbox
            key={type.event}
            checked={chosen.has(type.event)}
            onChange={(event) => {
              set([type.event], event.target.checked);
            }}
            hint={`${type.description}${isOrgWide(type) ? ' Org-wide.' : ''}`}
          >
            <span className="mono">{type.event}</span>
          </Checkbox>
        ))}
      </div>
    </div>
  );
}
