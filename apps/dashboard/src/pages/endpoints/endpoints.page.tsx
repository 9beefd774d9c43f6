import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { activityQuery, endpointsQuery, eventTypesQuery } from '../../api/queries.js';
import type { Activity, Endpoint } from '../../api/resources.js';
import { Sparkline } from '../../charts/sparkline.js';
import { HEALTHS, parseEndpointSearch, type EndpointSearch } from '../../endpoints/endpoint-search.js';
import { filteredEndpoints } from '../../endpoints/filtered-endpoints.js';
import { endpointTitle } from '../../endpoints/endpoint-title.js';
import { activityOf, failedText, healthOf } from '../../endpoints/health-of.js';
import { eventsText, scopeText } from '../../endpoints/subscription-text.js';
import { subscribableTypes } from '../../endpoints/event-families.js';
import { useLack } from '../../session/use-session.js';
import { Button, ButtonLink } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { SelectField, TextField } from '../../ui/field.js';
import { LoadingRows } from '../../ui/loading-card.js';
import { Name } from '../../ui/name.js';
import { EmptyState, FailureNotice } from '../../ui/notice.js';
import { PageHeader } from '../../ui/page-header.js';
import { ShowMore } from '../../ui/show-more.js';
import { HealthBadge, healthText } from '../../ui/status-badge.js';
import { Ago } from '../../ui/time.js';
import './endpoints.css';

const route = getRouteApi('/inside/endpoints');

/** With fewer, one look is faster than a filter. */
const FILTERED_FROM = 6;

export function EndpointsPage() {
  const { data: endpoints, error, refetch } = useQuery(endpointsQuery());
  const { data: activity, error: activityError, refetch: refetchActivity } = useQuery(activityQuery(24));
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const go = (next: EndpointSearch) => void navigate({ search: next, replace: true, resetScroll: false });
  const listed = filteredEndpoints(endpoints ?? [], activity, filter);
  const isFiltered = Object.keys(filter).length > 0;
  const lack = useLack('webhooks:write');
  const create = (
    <ButtonLink to="/endpoints/new" look="solid" icon="plus" reason={lack}>
      New endpoint
    </ButtonLink>
  );
  return (
    <>
      <PageHeader
        title="Endpoints"
        note="The URLs that events are pushed to, each signed with a secret of its own."
        actions={create}
      />
      {endpoints !== undefined && activity === undefined && activityError !== null && (
        <FailureNotice error={activityError} onRetry={() => void refetchActivity()} />
      )}
      <Card flush>
        {endpoints !== undefined ? (
          endpoints.length === 0 ? (
            <EmptyState icon="endpoint" title="No endpoints yet" action={create}>
              Register a URL, choose what it is sent, and watch a test event arrive.
            </EmptyState>
          ) : (
            <>
              {(isFiltered || endpoints.length >= FILTERED_FROM) && <Filters filter={filter} onFilter={go} />}
              {listed.length > 0 ? (
                <ShowMore items={listed}>{(shown) => <EndpointTable endpoints={shown} activity={activity} />}</ShowMore>
              ) : (
                <EmptyState
                  icon="search"
                  title="No endpoint matches the filters"
                  action={<Button onClick={() => go({})}>Clear the filters</Button>}
                />
              )}
            </>
          )
        ) : (
          <LoadingRows error={error} onRetry={() => void refetch()} rows={5} rowHeight="3.75rem" />
        )}
      </Card>
    </>
  );
}

interface FiltersProps {
  readonly filter: EndpointSearch;
  readonly onFilter: (filter: EndpointSearch) => void;
}

function Filters({ filter, onFilter }: FiltersProps) {
  // The address follows a moment later, which would move the caret and break what an input method composes.
  const [text, setText] = useState(filter.text ?? '');
  const [typed, setTyped] = useState<readonly string[]>([]);
  const [shown, setShown] = useState(filter.text);
  if (shown !== filter.text) {
    setShown(filter.text);
    const own = typed.indexOf(filter.text ?? '');
    setTyped(own < 0 ? [] : typed.slice(own + 1));
    // Links to other filters. The field is ahead of an address with something that was typed in it.
    if (own < 0) setText(filter.text ?? '');
  }
  const change = (changes: Record<string, string>) => {
    onFilter(parseEndpointSearch({ ...filter, text, ...changes }));
  };
  return (
    <div className="filters endpoint-filters">
      <TextField
        label="Name or URL"
        labelHidden
        type="search"
        placeholder="Name or URL"
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setTyped([...typed, target.value]);
          change({ text: target.value });
        }}
      />
      <SelectField
        label="Health"
        labelHidden
        value={filter.health ?? ''}
        onChange={({ target }) => change({ health: target.value })}
      >
        <option value="">Any health</option>
        {HEALTHS.map((health) => (
          <option key={health} value={health}>
            {healthText(health)}
          </option>
        ))}
      </SelectField>
    </div>
  );
}

interface EndpointTableProps {
  readonly endpoints: readonly Endpoint[];
  readonly activity: readonly Activity[] | undefined;
}

function EndpointTable({ endpoints, activity }: EndpointTableProps) {
  const { data: types } = useQuery(eventTypesQuery());
  const catalogSize = types && subscribableTypes(types).length;
  return (
    <table className="table endpoint-table">
      <thead>
        <tr>
          <th scope="col">Health</th>
          <th scope="col">Endpoint</th>
          <th scope="col" className="wide-only">
            Receives
          </th>
          <th scope="col" className="wide-only">
            Last 24 h
          </th>
          <th scope="col" className="end">
            Last push
          </th>
        </tr>
      </thead>
      <tbody>
        {endpoints.map((endpoint) => (
          <EndpointRow key={endpoint.id} {...{ endpoint, activity, catalogSize }} />
        ))}
      </tbody>
    </table>
  );
}

interface EndpointRowProps {
  readonly endpoint: Endpoint;
  readonly activity: readonly Activity[] | undefined;
  readonly catalogSize: number | undefined;
}

function EndpointRow({ endpoint, activity, catalogSize }: EndpointRowProps) {
  const known = activityOf(endpoint.id, activity);
  const failed = known && failedText(known.health);
  return (
    <tr data-link>
      <td>
        <HealthBadge status={healthOf(endpoint, activity)} />
      </td>
      <td className="endpoint-cell">
        <Link to="/endpoints/$endpointId" params={{ endpointId: endpoint.id }} className="row-link truncate">
          <Name>{endpointTitle(endpoint)}</Name>
        </Link>
        <span className="endpoint-url mono truncate">{endpoint.url}</span>
        {failed !== undefined && <span className="endpoint-failed">{failed}</span>}
      </td>
      <td className="wide-only">
        <span className="stack-none">{eventsText(endpoint.events, catalogSize)}</span>
        <span className="cell-note">{scopeText(endpoint.widget_ids)}</span>
      </td>
      <td className="wide-only">
        <Sparkline buckets={known?.buckets} span="24 hours" />
      </td>
      <td className="end muted">
        {endpoint.last_triggered_at === null ? 'never' : <Ago iso={endpoint.last_triggered_at} />}
      </td>
    </tr>
  );
}
