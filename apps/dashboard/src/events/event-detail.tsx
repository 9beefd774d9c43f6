import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ApiProblem } from '../api/api-problem.js';
import { eventQuery } from '../api/queries.js';
import type { StoredEvent } from '../api/resources.js';
import { resultText } from '../deliveries/ending.js';
import { endpointTitle } from '../endpoints/endpoint-title.js';
import { WidgetName } from '../names/widget-name.js';
import { words } from '../session/wording.js';
import { Card } from '../ui/card.js';
import { CodeBlock } from '../ui/code-block.js';
import { CopyIcon } from '../ui/copy-button.js';
import { DataList, Datum } from '../ui/data-list.js';
import { Name } from '../ui/name.js';
import { EmptyState, FailureNotice } from '../ui/notice.js';
import { SkeletonBlock } from '../ui/skeleton.js';
import { Tabs } from '../ui/tabs.js';
import { DeliveryBadge } from '../ui/status-badge.js';
import { Time } from '../ui/time.js';
import { JsonView } from './json-view.js';
import { NotDelivered } from './not-delivered.js';

/** Shows an event: its content, its exact bytes, and its deliveries. */
export function EventDetail({ seq }: { readonly seq: number }) {
  const { data: stored, error, refetch } = useQuery(eventQuery(seq));
  if (stored === undefined) {
    if (error instanceof ApiProblem && error.status === 404) {
      return (
        <Card title={`#${seq}`}>
          <EmptyState icon="search" title={`There is no event #${seq}`}>
            It has not happened yet, or it is past retention.
          </EmptyState>
        </Card>
      );
    }
    return error === null ? (
      <SkeletonBlock height="36rem" />
    ) : (
      <FailureNotice error={error} onRetry={() => void refetch()} />
    );
  }
  const { envelope, raw, sha256 } = stored;
  const bytes = new TextEncoder().encode(raw).length;
  return (
    <div className="stack">
      <Card title={<code>{envelope.event}</code>} note={`#${envelope.seq}`}>
        <DataList>
          <Datum name="Id">
            <span className="id-with-copy">
              <code className="truncate">{envelope.id}</code>
              <CopyIcon text={envelope.id} what="event id" />
            </span>
          </Datum>
          <Datum name="Occurred">
            <Time iso={envelope.occurred_at} />
          </Datum>
          <Datum name="Appended">
            <Time iso={stored.appended_at} />
          </Datum>
          <Datum name="Widget">
            {envelope.widget_id === null ? 'None: org-wide' : <WidgetName id={envelope.widget_id} />}
          </Datum>
          <Datum name="SHA-256">
            <code className="muted">{sha256}</code>
          </Datum>
        </DataList>
      </Card>
      <DeliveriesCard stored={stored} />
      <Card>
        <Tabs
          label="The event"
          tabs={[
            { value: 'reading', text: 'For reading', content: <JsonView raw={raw} title="For reading" /> },
            {
              value: 'raw',
              text: 'As stored',
              content: (
                <CodeBlock text={raw} what="raw bytes" title={`As stored: ${bytes.toLocaleString()} bytes`} wrap />
              ),
            },
          ]}
        />
      </Card>
    </div>
  );
}

function DeliveriesCard({ stored: { deliveries, envelope } }: { readonly stored: StoredEvent }) {
  return (
    <Card title="Delivered to" flush>
      {deliveries === null ? (
        <EmptyState icon="key" title={`${words().access} does not show deliveries`}>
          That takes the scope <code>webhooks:read</code>. {words().howToGetMore}
        </EmptyState>
      ) : deliveries.length === 0 ? (
        <EmptyState icon="endpoint" title="No endpoint was sent this event">
          None was active, subscribed to the type and in scope when it happened.
        </EmptyState>
      ) : (
        <ul>
          {deliveries.map((delivery) => (
            <li key={delivery.id} className="event-delivery">
              <DeliveryBadge status={delivery.status} attempts={delivery.attempts} />
              <Link
                className="row-link truncate"
                to="/endpoints/$endpointId/deliveries/$deliveryId"
                params={{ endpointId: delivery.endpoint_id, deliveryId: delivery.id }}
              >
                <Name>{endpointTitle({ name: delivery.endpoint_name, url: delivery.url })}</Name>
              </Link>
              <span className="muted event-delivery-result">
                {delivery.status === 'pending' && delivery.attempts === 0 ? '' : `${resultText(delivery)} · `}
                {delivery.attempts === 1 ? '1 attempt' : `${delivery.attempts} attempts`}
              </span>
            </li>
          ))}
        </ul>
      )}
      {deliveries !== null && <NotDelivered eventId={envelope.id} />}
    </Card>
  );
}
