import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useMemo, useState, type SyntheticEvent } from 'react';
import { eventTypesQuery } from '../api/queries.js';
import type { Envelope } from '../api/resources.js';
import { EventDetail } from '../events/event-detail.js';
import type { EventSearch } from '../events/event-search.js';
import { useEventFeed, type EventFeed, type LiveState } from '../events/use-event-feed.js';
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
  const names = useMemo(() => types?.map(({ event }) => event), [types]);
  const feed = useEventFeed({ event: search.event, widget: search.widget }, search.from, names);
  const go = (next: EventSearch) => void navigate({ search: next, replace: true, resetScroll: false });
  return (
    <>
      <PageHeader
        title="Events"
        note="Everything that happened, in order, without a gap. The same bytes are pushed and pulled."
        actions={<JumpToSeq onJump={(seq) => go({ ...search, seq, from: seq })} />}
      />
      <div className={search.seq === undefined ? 'events' : 'events events-open'}>
        <div className="events-list">
          <Card
            title={<LiveBadge state={feed.live} from={search.from} />}
            flush
            actions={
              search.from !== undefined && (
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
              <EventDetail seq={search.seq} />
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

function LiveBadge({ state, from }: { readonly state: LiveState; readonly from: number | undefined }) {
  if (from !== undefined) return `Up to #${from}`;
  return (
    <span className={`live live-${state}`} role="status">
      <span className="live-dot" />
      {state === 'live' ? 'Live' : state === 'reconnecting' ? 'Reconnecting …' : 'Connecting …'}
    </span>
  );
}

function JumpToSeq({ onJump }: { readonly onJump: (seq: number) => void }) {
  const [text, setText] = useState('');
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    const seq = Number(text.replace('#', ''));
    if (Number.isSafeInteger(seq) && seq > 0) onJump(seq);
  };
  return (
    <form className="jump" onSubmit={submit}>
      <TextField
        label="Jump to seq"
        labelHidden
        inputMode="numeric"
        placeholder="Jump to #seq"
        pattern="#?[1-9][0-9]*"
        title="The seq of an event: a whole number from 1"
        required
        value={text}
        onChange={(event) => {
          setText(event.target.value);
        }}
      />
      <Button type="submit">Go</Button>
    </form>
  );
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
      <WidgetFilter key={search.widget} widget={search.widget} onChange={(widget) => change('widget', widget)} />
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
  if (feed.events === undefined) {
    return feed.error === null ? (
      <SkeletonRows rows={10} rowHeight="3.25rem" />
    ) : (
      <div className="card-body">
        <FailureNotice error={feed.error} onRetry={feed.retry} />
      </div>
    );
  }
  if (feed.events.length === 0 && !feed.olderAreThere) return <NoEvents search={search} />;
  return (
    <>
      <ol className="event-list" aria-label="Events, newest first">
        {feed.events.map((envelope) => (
          <EventLine key={envelope.seq} envelope={envelope} search={search} />
        ))}
      </ol>
      {feed.olderAreThere && (
        <div className="table-foot">
          <span>{feed.events.length} shown</span>
          <Button icon="down" busy={feed.isReadingOlder} onClick={feed.readOlder}>
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
      Events appear here the moment they are appended. <code>npm run -s gapless -- emit</code> makes one.
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
        replace
        resetScroll={false}
        className={search.seq === envelope.seq ? 'event-line event-line-open' : 'event-line'}
        aria-current={search.seq === envelope.seq}
        activeProps={{}}
      >
        <span className="mono truncate event-name">{envelope.event}</span>
        <span className="numeric muted event-seq">#{envelope.seq}</span>
        <span className="event-gist truncate muted">{gistOf(envelope)}</span>
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
