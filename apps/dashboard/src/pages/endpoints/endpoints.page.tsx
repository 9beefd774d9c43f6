import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { activityQuery, endpointsQuery, eventTypesQuery } from '../../api/queries.js';
import type { Activity, Endpoint } from '../../api/resources.js';
import { Sparkline } from '../../charts/sparkline.js';
import { endpointTitle } from '../../endpoints/endpoint-title.js';
import { failedText, healthOf } from '../../endpoints/health-of.js';
import { eventsText, scopeText } from '../../endpoints/subscription-text.js';
import { subscribableTypes } from '../../endpoints/event-families.js';
import { useLack } from '../../session/use-session.js';
import { ButtonLink } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { LoadingRows } from '../../ui/loading-card.js';
import { Name } from '../../ui/name.js';
import { EmptyState } from '../../ui/notice.js';
import { PageHeader } from '../../ui/page-header.js';
import { HealthBadge } from '../../ui/status-badge.js';
import { Ago } from '../../ui/time.js';
import './endpoints.css';

export function EndpointsPage() {
  const { data: endpoints, error, refetch } = useQuery(endpointsQuery());
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
      <Card flush>
        {endpoints !== undefined ? (
          endpoints.length === 0 ? (
            <EmptyState icon="endpoint" title="No endpoints yet" action={create}>
              Register a URL, choose what it is sent, and watch a test event arrive.
            </EmptyState>
          ) : (
            <EndpointTable endpoints={endpoints} />
          )
        ) : (
          <LoadingRows error={error} onRetry={() => void refetch()} rows={5} rowHeight="3.75rem" />
        )}
      </Card>
    </>
  );
}

function EndpointTable({ endpoints }: { readonly endpoints: readonly Endpoint[] }) {
  const { data: activity } = useQuery(activityQuery(24));
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
  const known = activity?.find(({ endpoint_id: id }) => id === endpoint.id);
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
        <Sparkline buckets={known?.buckets ?? []} span="24 hours" />
      </td>
      <td className="end muted">
        {endpoint.last_triggered_at === null ? 'never' : <Ago iso={endpoint.last_triggered_at} />}
      </td>
    </tr>
  );
}
