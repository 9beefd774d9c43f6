import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { deliveriesQuery, eventTypesQuery, type DeliveryFilter } from '../api/queries.js';
import type { Delivery } from '../api/resources.js';
import { useNow } from '../time/use-now.js';
import { Button } from '../ui/button.js';
import { Card } from '../ui/card.js';
import { SelectField } from '../ui/field.js';
import { LoadingRows } from '../ui/loading-card.js';
import { EmptyState } from '../ui/notice.js';
import { cursorOf } from '../ui/page-search.js';
import { Pager } from '../ui/pager.js';
import { DeliveryBadge } from '../ui/status-badge.js';
import { Ago, Time } from '../ui/time.js';
import { sinceOf, type DeliverySearch } from './delivery-search.js';
import { resultText } from './ending.js';
import './delivery-log.css';

interface DeliveryLogProps {
  readonly endpointId: string;
  readonly search: DeliverySearch;
  readonly onSearch: (search: DeliverySearch) => void;
  /** Recovers what failed from this delivery on; `undefined` if the key may not. */
  readonly onRecover?: ((delivery: Delivery) => void) | undefined;
}

/** The deliveries of an endpoint, newest first. */
export function DeliveryLog(props: DeliveryLogProps) {
  return (
    <Card title="Deliveries" flush actions={<Filters search={props.search} onSearch={props.onSearch} />}>
      <Pages {...props} />
    </Card>
  );
}

function Filters({ search, onSearch }: Pick<DeliveryLogProps, 'search' | 'onSearch'>) {
  const { data: types } = useQuery(eventTypesQuery());
  const change = (changes: Partial<Record<keyof DeliverySearch, string>>) => {
    // A new filter starts at its first page.
    const merged = Object.entries({ ...search, ...changes }).filter(
      ([name, value]) => value !== '' && name !== 'after',
    );
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

function Pages({ endpointId, search, onSearch, onRecover }: DeliveryLogProps) {
  const now = useNow(60_000);
  const { status, event, within, after, ...rest } = search;
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
  } = useQuery(deliveriesQuery(endpointId, filter, cursorOf(search)));
  if (page === undefined) {
    return <LoadingRows error={error} onRetry={() => void refetch()} rows={8} />;
  }
  if (page.data.length === 0 && page.next_cursor === null && after === undefined) {
    return (
      <NothingFound
        isFiltered={Object.keys(filter).length > 0}
        onClear={() => {
          onSearch(rest);
        }}
      />
    );
  }
  return (
    <>
      <DeliveryTable endpointId={endpointId} deliveries={page.data} onRecover={onRecover} />
      <Pager
        label="Pages of deliveries"
        search={search}
        next={page.next_cursor}
        isLoading={isPlaceholderData}
        onPage={(cursors) => {
          const filters = Object.fromEntries(Object.entries(search).filter(([name]) => name !== 'after'));
          onSearch(cursors === undefined ? filters : { ...filters, after: cursors });
        }}
      />
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
  onRecover,
}: {
  readonly endpointId: string;
  readonly deliveries: readonly Delivery[];
  readonly onRecover: ((delivery: Delivery) => void) | undefined;
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
            Result
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
              <span className="narrow-only cell-note truncate">
                {delivery.seq === null ? '' : `#${delivery.seq} · `}
                <Result delivery={delivery} />
              </span>
            </td>
            <td className="wide-only end numeric muted">{delivery.seq === null ? '…' : `#${delivery.seq}`}</td>
            <td className="wide-only end numeric">{delivery.attempts}</td>
            <td className="wide-only muted result-cell" title={delivery.last_error ?? undefined}>
              <span className="row-apart">
                <span className="truncate">
                  <Result delivery={delivery} />
                </span>
                {delivery.status === 'failed' && delivery.seq !== null && onRecover !== undefined && (
                  <Button
                    look="ghost"
                    icon="recover"
                    className="row-action"
                    aria-label={`From here: recover from #${delivery.seq} on`}
                    title={`Recover from #${delivery.seq} on`}
                    onClick={() => {
                      onRecover(delivery);
                    }}
                  >
                    From here
                  </Button>
                )}
              </span>
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

/** The result of the last attempt, or why the delivery ended without it. */
function Result({ delivery }: { readonly delivery: Delivery }) {
  const { status, attempts, next_attempt_at: next } = delivery;
  return (
    <>
      {resultText(delivery)}
      {status === 'pending' && attempts > 0 && next !== null && (
        <>
          {' · next '}
          <Ago iso={next} />
        </>
      )}
    </>
  );
}
