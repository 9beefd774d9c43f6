import { useQuery } from '@tanstack/react-query';
import { useState, type KeyboardEvent } from 'react';
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
  const found = families.flatMap((family) => family.types.map(({ event }) => event));
  const isSearched = search.trim() !== '';
  const isAllChosen = found.length > 0 && found.every((event) => chosen.has(event));
  // One stop for Tab; the arrow keys move within. Otherwise 60 stops would come before the end of the form.
  const boxes = families.flatMap((family) => [familyBox(family), ...family.types.map(({ event }) => event)]);
  const [reached, setReached] = useState('');
  const stop = boxes.includes(reached) ? reached : boxes[0];
  const set = (events: readonly EventName[], isChosen: boolean) => {
    const next = new Set(chosen);
    for (const event of events) {
      if (isChosen) next.add(event);
      else next.delete(event);
    }
    onChange(next);
  };

  return (
    <fieldset className="picker" aria-describedby={error === undefined ? 'picker-keys' : 'picker-error picker-keys'}>
      <legend className="legend">Events</legend>
      <p className="visually-hidden" id="picker-keys">
        The arrow keys move between the event types.
      </p>
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
            set(found, !isAllChosen);
          }}
        >
          {isAllChosen ? 'Choose none' : 'Choose all'}
          {isSearched && ` ${found.length} found`}
        </Button>
      </div>
      <div className="picker-list" tabIndex={-1} onKeyDown={moveFocus}>
        {failure !== null && <FailureNotice error={failure} onRetry={() => void refetch()} />}
        {types === undefined && failure === null && <SkeletonRows rows={8} rowHeight="2.5rem" />}
        {families.map((family) => (
          <Family key={family.family} {...{ family, chosen, set, stop, setReached }} />
        ))}
        {types !== undefined && families.length === 0 && <p className="picker-none">No event type has this name.</p>}
      </div>
      {error !== undefined && (
        <p id="picker-error" className="field-error" data-failure tabIndex={-1}>
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
  /** The box that Tab reaches. */
  readonly stop: string | undefined;
  readonly setReached: (box: string) => void;
}

function familyBox({ family }: EventFamily): string {
  return `family ${family}`;
}

/** Moves the focus between the boxes of the list. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const boxes = [...event.currentTarget.querySelectorAll<HTMLInputElement>('input[type="checkbox"]')];
  const at = boxes.findIndex((box) => box === document.activeElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: boxes.length - 1 }[event.key];
  if (at === -1 || next === undefined) return;
  event.preventDefault();
  boxes[Math.min(boxes.length - 1, Math.max(0, next))]?.focus();
}

function Family({ family, chosen, set, stop, setReached }: FamilyProps) {
  const tabStop = (box: string) => ({
    tabIndex: box === stop ? 0 : -1,
    onFocus: () => {
      setReached(box);
    },
  });
  const events = family.types.map(({ event }) => event);
  const count = events.filter((event) => chosen.has(event)).length;
  return (
    <div className="picker-family" role="group" aria-label={family.title}>
      <div className="picker-family-title">
        <Checkbox
          {...tabStop(familyBox(family))}
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
            {...tabStop(type.event)}
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
