import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { deliveryQuery, endpointQuery } from '../../api/queries.js';
import type { DeliveryDetail, SentRequest } from '../../api/resources.js';
import { AttemptTimeline } from '../../deliveries/attempt-timeline.js';
import { curlCommand } from '../../deliveries/curl-command.js';
import { endingOf } from '../../deliveries/ending.js';
import { WaitList } from '../../deliveries/wait-list.js';
import { useReplay, useSkip } from '../../endpoints/endpoint-changes.js';
import { endpointTitle } from '../../endpoints/endpoint-title.js';
import { JsonView } from '../../events/json-view.js';
import { useLack } from '../../session/use-session.js';
import { SignatureChecker } from '../../signature/signature-checker.js';
import { Button, ButtonLink } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { CodeBlock } from '../../ui/code-block.js';
import { CopyButton, CopyIcon } from '../../ui/copy-button.js';
import { DataList, Datum } from '../../ui/data-list.js';
import { EmptyState, FailureNotice, Notice } from '../../ui/notice.js';
import { PageHeader } from '../../ui/page-header.js';
import { SkeletonBlock } from '../../ui/skeleton.js';
import { DeliveryBadge } from '../../ui/status-badge.js';
import { Tabs } from '../../ui/tabs.js';
import { Ago, Time } from '../../ui/time.js';
import { toastDone, toastFailure } from '../../ui/toast-queue.js';
import './delivery.css';

const route = getRouteApi('/inside/endpoints/$endpointId/deliveries/$deliveryId');
const SIGNATURE_HEADER = 'x-service-signature';

export function DeliveryPage() {
  const { endpointId, deliveryId } = route.useParams();
  const { data: delivery, error, refetch } = useQuery(deliveryQuery(endpointId, deliveryId));
  const { data: endpoint, isFetched: isEndpointAsked } = useQuery(endpointQuery(endpointId));
  const back = {
    link: { to: '/endpoints/$endpointId', params: { endpointId } },
    text: endpoint === undefined ? 'Endpoint' : endpointTitle(endpoint),
  } as const;
  // What the endpoint adds stands above other parts, and would move them if it came later.
  if (delivery === undefined || !isEndpointAsked) {
    return (
      <>
        <PageHeader title="Delivery" back={back} />
        {error === null ? (
          <div className="columns-delivery">
            <SkeletonBlock height="18rem" />
            <SkeletonBlock height="40rem" />
          </div>
        ) : (
          <FailureNotice error={error} onRetry={() => void refetch()} />
        )}
      </>
    );
  }
  const isActive = endpoint?.is_active;
  const curl = delivery.request === null ? undefined : curlCommand(delivery.request);
  return (
    <>
      <PageHeader
        title={delivery.event}
        badge={<DeliveryBadge status={delivery.status} attempts={delivery.attempts} />}
        note={
          <span className="id-with-copy">
            <code>{delivery.id}</code>
            <CopyIcon text={delivery.id} what="delivery id" />
          </span>
        }
        back={back}
        actions={
          <>
            {curl !== undefined && <CopyButton text={curl} what="as curl" />}
            {delivery.status === 'pending' && <SkipButton {...{ endpointId, deliveryId }} />}
            <ReplayButton {...{ endpointId, deliveryId }} isActive={isActive} />
          </>
        }
      />
      <EndingNotice delivery={delivery} isActive={isActive} />
      <div className="columns-delivery">
        <div className="stack">
          <Card title="Attempts" note={attemptsNote(delivery)}>
            <AttemptTimeline delivery={delivery} isOrdered={(endpoint?.ordering.by ?? 'none') !== 'none'} />
          </Card>
          {endpoint !== undefined && <WaitList delivery={delivery} endpoint={endpoint} />}
        </div>
        <div className="stack">
          <SummaryCard delivery={delivery} />
          <Card title="Request">
            <RequestTabs delivery={delivery} />
          </Card>
        </div>
      </div>
    </>
  );
}

function ReplayButton({
  endpointId,
  deliveryId,
  isActive,
}: {
  readonly endpointId: string;
  readonly deliveryId: string;
  readonly isActive: boolean | undefined;
}) {
  const lack = useLack('webhooks:write');
  const replaying = useReplay(endpointId, deliveryId);
  return (
    <Button
      look="solid"
      icon="replay"
      reason={lack ?? (isActive === false ? 'The endpoint is not active. Enable it first.' : undefined)}
      busy={replaying.isPending}
      onClick={() => {
        replaying.mutate(undefined, {
          onSuccess: () => {
            toastDone('Replayed', 'Sends the same bytes with the same delivery id and a new signature.');
          },
          onError: (failure) => {
            toastFailure('Not replayed', failure);
          },
        });
      }}
    >
      Replay
    </Button>
  );
}

function SkipButton({ endpointId, deliveryId }: { readonly endpointId: string; readonly deliveryId: string }) {
  const lack = useLack('webhooks:write');
  const skipping = useSkip(endpointId, deliveryId);
  return (
    <Button
      reason={lack}
      busy={skipping.isPending}
      onClick={() => {
        // The page may show that the delivery has ended before the answer comes. Then this button is gone.
        skipping.mutateAsync().then(
          () => {
            toastDone('Skipped', 'It is not tried again. Deliveries that waited for it go on.');
          },
          (failure: unknown) => {
            toastFailure('Not skipped', failure);
          },
        );
      }}
    >
      Skip
    </Button>
  );
}

/** Why the delivery ended, and what to do next. */
function EndingNotice({
  delivery,
  isActive,
}: {
  readonly delivery: DeliveryDetail;
  readonly isActive: boolean | undefined;
}) {
  const ending = endingOf(delivery, isActive);
  if (ending === undefined) return null;
  return (
    <Notice
      tone="bad"
      title={ending.title}
      actions={
        isActive !== true && (
          <ButtonLink to="/endpoints/$endpointId" params={{ endpointId: delivery.endpoint_id }}>
            To the endpoint
          </ButtonLink>
        )
      }
    >
      {ending.next}
    </Notice>
  );
}

function SummaryCard({ delivery }: { readonly delivery: DeliveryDetail }) {
  return (
    <Card title="Delivery">
      <DataList>
        <Datum name="Event">
          {delivery.seq === null ? (
            <code>{delivery.event_id}</code>
          ) : (
            <>
              <Link to="/events" search={{ seq: delivery.seq }}>
                #{delivery.seq}
              </Link>{' '}
              <code className="muted">{delivery.event_id}</code>
            </>
          )}
        </Datum>
        <Datum name="Created">
          <Time iso={delivery.created_at} />
        </Datum>
        {delivery.delivered_at !== null && (
          <Datum name="Delivered">
            <Time iso={delivery.delivered_at} />
          </Datum>
        )}
        {delivery.next_attempt_at !== null && (
          <Datum name="Next attempt">
            <Ago iso={delivery.next_attempt_at} />
          </Datum>
        )}
      </DataList>
    </Card>
  );
}

function RequestTabs({ delivery: { request } }: { readonly delivery: DeliveryDetail }) {
  if (request === null) {
    return (
      <EmptyState icon="send" title="No request to show">
        Nothing was sent yet, or the event is past retention and its bytes are gone.
      </EmptyState>
    );
  }
  const curl = curlCommand(request);
  return (
    <Tabs
      label="Parts of the request"
      tabs={[
        { value: 'body', text: 'Body', content: <JsonView raw={request.body} title="For reading" /> },
        {
          value: 'raw',
          text: 'Raw',
          content: <CodeBlock text={request.body} what="raw body" title="As sent, byte for byte" wrap />,
        },
        { value: 'headers', text: 'Headers', content: <Headers request={request} /> },
        {
          value: 'signature',
          text: 'Signature checker',
          content: <SignatureChecker header={request.headers[SIGNATURE_HEADER] ?? ''} body={request.body} />,
        },
        {
          value: 'curl',
          text: 'curl',
          content:
            curl === undefined ? (
              <p className="muted">{request.url_note}</p>
            ) : (
              <CodeBlock text={curl} what="curl command" title="Sends the same request again" wrap />
            ),
        },
      ]}
    />
  );
}

function Headers({ request }: { readonly request: SentRequest }) {
  return (
    <div className="stack">
      <p className="muted">
        <code>{request.method}</code>{' '}
        {request.url === null ? request.url_note : <code className="request-url">{request.url}</code>}
      </p>
      <div className="table-frame">
        <table className="table header-table">
          <thead>
            <tr>
              <th scope="col">Header</th>
              <th scope="col">Value</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(request.headers).map(([name, value]) => (
              <tr key={name}>
                <td className="mono nowrap">{name}</td>
                <td className="mono header-value">{value ?? <span className="muted">not known any more</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {request.signature_note !== null && <p className="muted">{request.signature_note}</p>}
    </div>
  );
}

function attemptsNote({ attempts, status }: DeliveryDetail): string {
  if (attempts === 0) return status === 'pending' ? 'The first is due' : 'None was made';
  return attempts === 1 ? '1 in this run' : `${attempts} in this run`;
}
