import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useConnection } from '../api/connection.js';
import { eventTypesQuery } from '../api/queries.js';
import type { Envelope } from '../api/resources.js';
import { EventDetail } from '../events/event-detail.js';
import type { EventSearch } from '../events/event-search.js';
import type { Arrivals } from '../events/event-window.js';
import { useEventFeed, type EventFeed } from '../events/use-event-feed.js';
import { words } from '../session/wording.js';
import { Button } from '../ui/button.js';
import { Card } from '../ui/card.js';
import { SelectField, TextField } from '../ui/field.js';
import { EmptyState, FailureNotice } from '../ui/notice.js';
import { PageHeader } from '../ui/page-header.js';
import { SkeletonRows } from '../ui/skeleton.js';
import { Time } from '../ui/time.js';
import './events.css';

const route = getRouteApi('/inside/events');

export function EventsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: types } = useQuery(eventTypesQuery());
  const names = types?.map(({ event }) => event);
  const [isPaused, setPaused] = useState(false);
  const feed = useEventFeed({ event: search.event, widget: search.widget }, search.from, isPaused);
  // Pushed, so that Back leads to the list and the filter before.
  const go = (next: EventSearch) => void navigate({ search: next, resetScroll: false });
  return (
    <>
      <PageHeader
        title="Events"
        note="Everything that happened, in order, without a gap. The same bytes are pushed and pulled."
      />
      <div className={search.seq === undefined ? 'events' : 'events events-open'}>
        <div className="events-list">
          <Card
            title={<Position from={search.from} isPaused={isPaused} feed={feed} />}
            flush
            actions={
              search.from === undefined ? (
                <Button
                  icon={isPaused ? 'play' : 'pause'}
                  onClick={() => {
                    setPaused(!isPaused);
                  }}
                >
                  {isPaused ? 'Continue' : 'Pause'}
                </Button>
              ) : (
                <Button icon="play" onClick={() => go(withoutMember(search, 'from'))}>
                  Go live
                </Button>
              )
            }
          >
            <Filters search={search} names={names} onChange={go} />
            <EventList feed={feed} search={search} />
          </Card>
        </div>
        <div className="events-detail">
          {search.seq === undefined ? (
            <Card>
              <EmptyState icon="events" title="Choose an event">
                You will see what it holds, its very bytes, and where it was delivered.
              </EmptyState>
            </Card>
          ) : (
            <>
              <div className="events-back">
                <Button icon="left" onClick={() => go(withoutMember(search, 'seq'))}>
                  All events
                </Button>
              </div>
              <EventDetail key={search.seq} seq={search.seq} />
            </>
          )}
        </div>
      </div>
    </>
  );
}

function withoutMember(search: EventSearch, member: keyof EventSearch): EventSearch {
  return Object.fromEntries(Object.entries(search).filter(([name]) => name !== member));
}

interface PositionProps {
  readonly from: number | undefined;
  readonly isPaused: boolean;
  readonly feed: EventFeed;
}

/** Where in the log the list is, and whether it follows the head. */
function Position({ from, isPaused, feed }: PositionProps) {
  const isStreaming = useConnection((connection) => connection.isStreaming);
  const isUp = useConnection((connection) => connection.isUp);
  if (from !== undefined) {
    const top = feed.window?.top ?? from;
    return from > top && feed.window !== undefined
      ? `#${from} is not there yet: the newest is #${top}`
      : `Up to #${top}`;
  }
  const state = !isUp || feed.error !== null ? 'off' : isPaused ? 'paused' : isStreaming ? 'live' : 'reconnecting';
  return (
    <span className={`live live-${state}`} role="status">
      <span className="live-dot" />
      {state === 'off' && 'Not updated'}
      {state === 'paused' && `Paused · ${waitingText(feed.waiting)} new`}
      {state === 'live' && 'Live'}
      {state === 'reconnecting' && 'Connecting …'}
    </span>
  );
}

function waitingText({ count, isLeast }: Arrivals): string {
  return isLeast ? `${count} or more` : String(count);
}

interface FiltersProps {
  readonly search: EventSearch;
  readonly names: readonly string[] | undefined;
  readonly onChange: (search: EventSearch) => void;
}

function Filters({ search, names, onChange }: FiltersProps) {
  const change = (member: 'event' | 'widget', value: string) => {
    const rest = withoutMember(search, member);
    onChange(value === '' ? rest : { ...rest, [member]: value });
  };
  return (
    <div className="filters events-filters">
      <SelectField
        label="Event type"
        labelHidden
        value={search.event ?? ''}
        onChange={(event) => {
          change('event', event.target.value);
        }}
      >
        <option value="">Any event type</option>
        {names?.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </SelectField>
      <WidgetFilter widget={search.widget} onChange={(widget) => change('widget', widget)} />
    </div>
  );
}

const UUID = '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';

function WidgetFilter({
  widget,
  onChange,
}: {
  readonly widget: string | undefined;
  readonly onChange: (widget: string) => void;
}) {
  const [text, setText] = useState(widget ?? '');
  // Back, and links to other filters. A new field would lose the focus.
  const [shown, setShown] = useState(widget);
  if (shown !== widget) {
    setShown(widget);
    setText(widget ?? '');
  }
  const isWhole = new RegExp(`^${UUID}$`).test(text);
  return (
    <TextField
      label="Widget id"
      labelHidden
      placeholder="Any widget (id)"
      className="mono"
      type="search"
      spellCheck={false}
      value={text}
      error={text === '' || isWhole ? undefined : 'Widget ids are UUIDs.'}
      onChange={({ target: { value } }) => {
        setText(value);
        if (value === '' || new RegExp(`^${UUID}$`).test(value)) onChange(value);
      }}
    />
  );
}

function EventList({ feed, search }: { readonly feed: EventFeed; readonly search: EventSearch }) {
  const { window, head } = feed;
  const failure = feed.error !== null && (
    <div className="card-body">
      <FailureNotice error={feed.error} onRetry={feed.retry} />
    </div>
  );
  if (window === undefined) return failure || <SkeletonRows rows={10} rowHeight="3.25rem" />;
  const newerAreThere = search.from !== undefined && window.top < head;
  if (window.events.length === 0 && window.before === null && !newerAreThere) {
    return failure || <NoEvents search={search} />;
  }
  return (
    <>
      {failure}
      {newerAreThere && (
        <div className="table-foot events-newer">
          <span>The head is #{head}</span>
          <Button icon="up" busy={feed.isReading} onClick={feed.readNewer}>
            Newer
          </Button>
        </div>
      )}
      <ol className="event-list" aria-label="Events, newest first">
        {window.events.map((envelope) => (
          <EventLine key={envelope.seq} envelope={envelope} search={search} />
        ))}
      </ol>
      {window.before !== null && (
        <div className="table-foot">
          <span>{window.events.length} shown</span>
          <Button icon="down" busy={feed.isReading} onClick={feed.readOlder}>
            Older
          </Button>
        </div>
      )}
    </>
  );
}

function NoEvents({ search }: { readonly search: EventSearch }) {
  return search.event === undefined && search.widget === undefined ? (
    <EmptyState icon="events" title="No events yet">
      Events appear here the moment they are appended.{' '}
      {words().isOperated && (
        <>
          <code>npm run -s gapless -- emit</code> makes one.
        </>
      )}
    </EmptyState>
  ) : (
    <EmptyState icon="search" title="No event matches the filters">
      Of those that are still kept. New ones appear by themselves.
    </EmptyState>
  );
}

function EventLine({ envelope, search }: { readonly envelope: Envelope; readonly search: EventSearch }) {
  return (
    <li>
      <Link
        to="/events"
        search={{ ...search, seq: envelope.seq }}
        resetScroll={false}
        className={search.seq === envelope.seq ? 'event-line event-line-open' : 'event-line'}
        aria-current={search.seq === envelope.seq}
        activeProps={{}}
      >
        <span className="mono truncate event-name">{envelope.event}</span>
        <span className="numeric muted event-seq">#{envelope.seq}</span>
        <bdi className="event-gist truncate muted">{gistOf(envelope)}</bdi>
        <span className="muted event-time">
          <Time iso={envelope.occurred_at} />
        </span>
      </Link>
    </li>
  );
}

/** A few words of a payload, to distinguish one event from the next. */
function gistOf({ data }: Envelope): string {
  const { conversation, subject, name, email, title, id } = data as Readonly<Record<string, unknown>>;
  const inner = (conversation ?? {}) as Readonly<Record<string, unknown>>;
  const words = [inner['subject'], subject, title, name, email, id].find((value) => typeof value === 'string');
  return typeof words === 'string' ? words : '';
}
