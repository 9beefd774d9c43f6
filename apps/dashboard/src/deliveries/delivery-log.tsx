import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { deliveriesQuery, eventTypesQuery, type DeliveryFilter } from '../api/queries.js';
import type { Delivery } from '../api/resources.js';
import { useNow } from '../time/use-now.js';
import { Button } from '../ui/button.js';
import { Card } from '../ui/card.js';
import { SelectField } from '../ui/field.js';
import { EmptyState, FailureNotice } from '../ui/notice.js';
import { SkeletonRows } from '../ui/skeleton.js';
import { DeliveryBadge } from '../ui/status-badge.js';
import { Ago, Time } from '../ui/time.js';
import { sinceOf, type DeliverySearch } from './delivery-search.js';
import { errorText } from './error-text.js';
import './delivery-log.css';

interface DeliveryLogProps {
  readonly endpointId: string;
  readonly search: DeliverySearch;
  readonly onSearch: (search: DeliverySearch) => void;
}

/** The deliveries of an endpoint, newest first. */
export function DeliveryLog({ endpointId, search, onSearch }: DeliveryLogProps) {
  return (
    <Card title="Deliveries" flush actions={<Filters search={search} onSearch={onSearch} />}>
      {/* A new filter starts at its first page. */}
      <Pages key={JSON.stringify(search)} endpointId={endpointId} search={search} onSearch={onSearch} />
    </Card>
  );
}

function Filters({ search, onSearch }: Pick<DeliveryLogProps, 'search' | 'onSearch'>) {
  const { data: types } = useQuery(eventTypesQuery());
  const change = (changes: Partial<Record<keyof DeliverySearch, string>>) => {
    const merged = Object.entries({ ...search, ...changes }).filter(([, value]) => value !== '');
    onSearch(Object.fromEntries(merged));
  };
  return (
    <div className="filters">
      <SelectField
        label="Status"
        labelHidden
        value={search.status ?? ''}
        onChange={(event) => {
          change({ status: event.target.value });
        }}
      >
        <option value="">Any status</option>
        <option value="delivered">Delivered</option>
        <option value="failed">Failed</option>
        <option value="pending">Pending</option>
      </SelectField>
      <SelectField
        label="Event type"
        labelHidden
        value={search.event ?? ''}
        onChange={(event) => {
          change({ event: event.target.value });
        }}
      >
        <option value="">Any event</option>
        {types?.map(({ event }) => (
          <option key={event}>{event}</option>
        ))}
      </SelectField>
      <SelectField
        label="Time"
        labelHidden
        value={search.within ?? ''}
        onChange={(event) => {
          change({ within: event.target.value });
        }}
      >
        <option value="">Any time</option>
        <option value="1h">Last hour</option>
        <option value="24h">Last 24 hours</option>
        <option value="7d">Last 7 days</option>
      </SelectField>
    </div>
  );
}

function Pages({ endpointId, search, onSearch }: DeliveryLogProps) {
  // The cursors of the earlier pages, for going back.
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const now = useNow(60_000);
  const { status, event, within } = search;
  const filter: DeliveryFilter = {
    ...(status === undefined ? {} : { status }),
    ...(event === undefined ? {} : { event }),
    ...(within === undefined ? {} : { since: sinceOf(within, now) }),
  };
  const {
    data: page,
    error,
    refetch,
    isPlaceholderData,
  } = useQuery(deliveriesQuery(endpointId, filter, cursors.at(-1)));
  if (page === undefined) {
    return error === null ? (
      <SkeletonRows rows={6} />
    ) : (
      <div className="card-body">
        <FailureNotice error={error} onRetry={() => void refetch()} />
      </div>
    );
  }
  if (page.data.length === 0 && cursors.length === 0) {
    return <NothingFound isFiltered={Object.keys(search).length > 0} onClear={() => onSearch({})} />;
  }
  const next = page.next_cursor;
  return (
    <>
      <DeliveryTable endpointId={endpointId} deliveries={page.data} />
      {(next !== null || cursors.length > 0) && (
        <nav className="table-foot" aria-label="Pages of deliveries">
          <span>Page {cursors.length + 1}</span>
          <span className="row">
            <Button icon="left" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
              Newer
            </Button>
            <Button
              disabled={next === null || isPlaceholderData}
              onClick={() => {
                if (next !== null) setCursors([...cursors, next]);
              }}
            >
              Older
            </Button>
          </span>
        </nav>
      )}
    </>
  );
}

function NothingFound({ isFiltered, onClear }: { readonly isFiltered: boolean; readonly onClear: () => void }) {
  return isFiltered ? (
    <EmptyState
      icon="search"
      title="No delivery matches the filters"
      action={<Button onClick={onClear}>Clear the filters</Button>}
    />
  ) : (
    <EmptyState icon="send" title="No deliveries yet">
      Deliveries appear here as soon as an event that the endpoint subscribes to happens. A test event is sent at once.
    </EmptyState>
  );
}

function DeliveryTable({
  endpointId,
  deliveries,
}: {
  readonly endpointId: string;
  readonly deliveries: readonly Delivery[];
}) {
  return (
    <table className="table delivery-table">
      <thead>
        <tr>
          <th scope="col">Status</th>
          <th scope="col">Event</th>
          <th scope="col" className="wide-only end">
            Seq
          </th>
          <th scope="col" className="wide-only end">
            Attempts
          </th>
          <th scope="col" className="wide-only">
            Last result
          </th>
          <th scope="col" className="end">
            Created
          </th>
        </tr>
      </thead>
      <tbody>
        {deliveries.map((delivery) => (
          <tr key={delivery.id} data-link>
            <td>
              <DeliveryBadge status={delivery.status} attempts={delivery.attempts} />
            </td>
            <td className="truncate">
              <Link
                to="/endpoints/$endpointId/deliveries/$deliveryId"
                params={{ endpointId, deliveryId: delivery.id }}
                className="row-link mono"
              >
                {delivery.event}
              </Link>
            </td>
            <td className="wide-only end numeric muted">{delivery.seq === null ? '…' : `#${delivery.seq}`}</td>
            <td className="wide-only end numeric">{delivery.attempts}</td>
            <td className="wide-only muted truncate" title={delivery.last_error ?? undefined}>
              {resultText(delivery)}
              {delivery.status === 'pending' && delivery.attempts > 0 && delivery.next_attempt_at !== null && (
                <>
                  {' · next '}
                  <Ago iso={delivery.next_attempt_at} />
                </>
              )}
            </td>
            <td className="end muted">
              <span className="wide-only">
                <Time iso={delivery.created_at} />
              </span>
              <span className="narrow-only">
                <Ago iso={delivery.created_at} />
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Returns the result of the last attempt: its status, or why there was none. */
function resultText({ response_status: status, last_error: error, attempts }: Delivery): string {
  if (status !== null) return `HTTP ${status}`;
  if (error !== null) return errorText(error);
  return attempts === 0 ? 'Not sent yet' : '–';
}
