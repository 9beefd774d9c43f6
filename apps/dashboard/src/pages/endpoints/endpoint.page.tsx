import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { endpointActivityQuery, endpointQuery, eventTypesQuery, recoveriesQuery } from '../../api/queries.js';
import type { EndpointWithHealth } from '../../api/resources.js';
import { wholeNumber } from '../../charts/scale.js';
import { fittingWindow } from '../../charts/fitting-window.js';
import { TimeChart } from '../../charts/time-chart.js';
import { DeliveryLog } from '../../deliveries/delivery-log.js';
import type { DeliverySearch } from '../../deliveries/delivery-search.js';
import { errorText } from '../../deliveries/error-text.js';
import { useTestEndpoint } from '../../endpoints/endpoint-changes.js';
import { EndpointActions } from '../../endpoints/endpoint-actions.js';
import { deliveryFacts } from '../../endpoints/delivery/delivery-facts.js';
import { endpointTitle } from '../../endpoints/endpoint-title.js';
import { autoDisabledText, failedText, hasFailedMuch, inARowText, pendingText } from '../../endpoints/health-of.js';
import { familiesOf } from '../../endpoints/event-families.js';
import { RecoverDialog } from '../../endpoints/recover-dialog.js';
import { scopeText } from '../../endpoints/subscription-text.js';
import { TestResult } from '../../endpoints/test-result.js';
import { WidgetName } from '../../names/widget-name.js';
import { RecoveriesCard } from '../../recoveries/recoveries-card.js';
import { useLack, useScope } from '../../session/use-session.js';
import { millisecondsText } from '../../time/time-text.js';
import { Button } from '../../ui/button.js';
import { Card } from '../../ui/card.js';
import { CopyIcon } from '../../ui/copy-button.js';
import { DataList, Datum } from '../../ui/data-list.js';
import { Name } from '../../ui/name.js';
import { FailureNotice, Notice } from '../../ui/notice.js';
import { PageHeader } from '../../ui/page-header.js';
import { Segments } from '../../ui/segments.js';
import { SkeletonBlock, SkeletonTable, SkeletonTiles } from '../../ui/skeleton.js';
import { HealthBadge } from '../../ui/status-badge.js';
import { Tile, Tiles } from '../../ui/tile.js';
import { Ago, Time } from '../../ui/time.js';
import { toastFailure } from '../../ui/toast-queue.js';
import './endpoint.css';

const route = getRouteApi('/inside/endpoints/$endpointId');

const BACK = { link: { to: '/endpoints' }, text: 'Endpoints' } as const;

export function EndpointPage() {
  const { endpointId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: endpoint, error, refetch } = useQuery(endpointQuery(endpointId));
  // They stand above the deliveries, and would move them if they came later.
  const { isFetched: areRecoveriesAsked } = useQuery(recoveriesQuery(endpointId));
  const [recovery, setRecovery] = useState<{ readonly fromSeq?: number }>();
  const mayWrite = useScope('webhooks:write');
  const [testId, setTestId] = useState<string>();
  const testing = useTestEndpoint(endpointId);
  if (endpoint === undefined || !areRecoveriesAsked) {
    return (
      <>
        <PageHeader title="Endpoint" back={BACK} />
        {error === null ? <EndpointSkeleton /> : <FailureNotice error={error} onRetry={() => void refetch()} />}
      </>
    );
  }
  // Pushed, so that Back leads to the page and the filter before.
  const go = (next: DeliverySearch) => void navigate({ search: next, resetScroll: false });
  const recoverThis = () => {
    setRecovery({});
  };
  return (
    <>
      <PageHeader
        title={endpointTitle(endpoint)}
        badge={<HealthBadge status={endpoint.health.status} />}
        note={
          <span className="mono endpoint-address" title={endpoint.url}>
            {endpoint.url}
          </span>
        }
        back={BACK}
        actions={
          <EndpointActions
            endpoint={endpoint}
            isTesting={testing.isPending}
            onRecover={recoverThis}
            onTest={() => {
              testing.mutate(undefined, {
                onSuccess: ({ id }) => {
                  setTestId(id);
                },
                onError: (failure) => {
                  toastFailure('No test was sent', failure);
                },
              });
            }}
          />
        }
      />
      {!endpoint.is_active && <DisabledNotice endpoint={endpoint} onRecover={recoverThis} />}
      {hasFailedMuch(endpoint) && <FailingNotice endpoint={endpoint} onRecover={recoverThis} />}
      {testId !== undefined && <TestResult endpointId={endpointId} deliveryId={testId} />}
      <HealthTiles endpoint={endpoint} />
      <div className="columns-main">
        <ActivityCard endpointId={endpointId} hours={search.hours} onHours={(hours) => go({ ...search, hours })} />
        <SettingsCard endpoint={endpoint} />
      </div>
      <RecoveriesCard endpointId={endpointId} />
      <DeliveryLog
        endpointId={endpointId}
        search={search}
        onSearch={go}
        onRecover={
          mayWrite
            ? ({ seq }) => {
                setRecovery(seq === null ? {} : { fromSeq: seq });
              }
            : undefined
        }
      />
      {recovery !== undefined && (
        <RecoverDialog
          endpoint={endpoint}
          fromSeq={recovery.fromSeq}
          onClose={() => {
            setRecovery(undefined);
          }}
        />
      )}
    </>
  );
}

/** Shows why the endpoint is disabled, and how to enable it. */
function DisabledNotice({
  endpoint,
  onRecover,
}: {
  readonly endpoint: EndpointWithHealth;
  readonly onRecover: () => void;
}) {
  const lack = useLack('webhooks:write');
  const { disabled_at: at, disabled_reason: reason, last_error: lastError } = endpoint.health;
  const why = autoDisabledText(reason);
  const isAutomatic = why !== undefined;
  return (
    <Notice
      tone={isAutomatic ? 'bad' : 'off'}
      icon="pause"
      title={isAutomatic ? `Disabled automatically: ${why}` : 'Paused: receives no pushes'}
      actions={
        <Button look="solid" icon="recover" reason={lack} onClick={onRecover}>
          Enable and recover …
        </Button>
      }
    >
      <p>
        {isAutomatic && lastError !== null && <>The last one: {errorText(lastError)}. </>}
        {at !== null && (
          <>
            Since <Time iso={at} />.{' '}
          </>
        )}
        Events that it misses meanwhile stay in the feed, and can be sent when it is enabled again.
      </p>
    </Notice>
  );
}

/** Shows how much failed recently, and how to send it again. */
function FailingNotice({
  endpoint: { health, failure_count: failures },
  onRecover,
}: {
  readonly endpoint: EndpointWithHealth;
  readonly onRecover: () => void;
}) {
  const lack = useLack('webhooks:write');
  return (
    <Notice
      tone="wait"
      title={failingTitle(health, failures)}
      actions={
        <Button look="solid" icon="recover" reason={lack} onClick={onRecover}>
          Recover …
        </Button>
      }
    >
      <p>
        {health.last_error !== null && <>The last error: {errorText(health.last_error)}. </>}
        {failures > 0 && `${inARowText(failures)} now.`}
      </p>
    </Notice>
  );
}

function failingTitle(health: EndpointWithHealth['health'], failures: number): string {
  const failed = failedText(health);
  if (failed === undefined) return 'The last attempts failed';
  return failures === 0 ? `${failed}, none since it worked or was enabled` : failed;
}

/** In the places of what comes. */
function EndpointSkeleton() {
  return (
    <>
      <SkeletonTiles />
      <div className="columns-main">
        <SkeletonBlock height="19rem" />
        <SkeletonBlock height="15rem" />
      </div>
      <Card title="Deliveries" flush>
        <SkeletonTable rows={8} />
      </Card>
    </>
  );
}

function HealthTiles({ endpoint: { health, failure_count: failures } }: { readonly endpoint: EndpointWithHealth }) {
  return (
    <Tiles>
      <Tile
        label="Delivered, 24 h"
        value={wholeNumber(health.delivered_24h)}
        note={
          health.last_success_at === null ? (
            'no success yet'
          ) : (
            <>
              last <Ago iso={health.last_success_at} />
            </>
          )
        }
      />
      <Tile
        label="Failed attempts, 24 h"
        value={wholeNumber(health.failed_attempts_24h)}
        note={failures > 0 ? `${failures} in a row now` : 'none in a row'}
      />
      <Tile
        label="Answer time, p95"
        value={health.p95_ms === null ? '–' : millisecondsText(health.p95_ms)}
        note={health.p50_ms === null ? 'no answers yet' : `p50 ${millisecondsText(health.p50_ms)}`}
      />
      <Tile
        label="Waiting"
        value={pendingText(health.pending)}
        note={
          health.oldest_pending_at === null ? (
            'nothing waits'
          ) : (
            <>
              oldest <Ago iso={health.oldest_pending_at} />
            </>
          )
        }
      />
    </Tiles>
  );
}

const RANGES = [
  { value: 1, text: '1 h' },
  { value: 24, text: '24 h' },
  { value: 168, text: '7 d' },
  { value: 720, text: '30 d' },
];

interface ActivityCardProps {
  readonly endpointId: string;
  readonly hours: number | undefined;
  readonly onHours: (hours: number) => void;
}

function ActivityCard({ endpointId, hours: chosen, onHours }: ActivityCardProps) {
  const { data: day } = useQuery(endpointActivityQuery(endpointId, 24));
  const totals = (day ?? []).map(({ delivered, failed_attempts: failed }) => delivered + failed);
  const hours = chosen ?? fittingWindow(totals, 1, [1, 24]);
  const { data: buckets, error, refetch } = useQuery(endpointActivityQuery(endpointId, hours));
  return (
    <Card
      title="Health over time"
      actions={<Segments label="Time range" options={RANGES} value={hours} onChange={onHours} />}
    >
      {buckets === undefined ? (
        error === null ? (
          <SkeletonBlock height="13.5rem" />
        ) : (
          <FailureNotice error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <TimeChart
          label="Deliveries over time"
          times={buckets.map(({ at }) => at)}
          series={[
            { name: 'Delivered', tone: 'good', kind: 'bar', values: buckets.map(({ delivered }) => delivered) },
            {
              name: 'Failed attempts',
              tone: 'bad',
              kind: 'bar',
              values: buckets.map(({ failed_attempts: failed }) => failed),
            },
          ]}
        />
      )}
    </Card>
  );
}

function SettingsCard({ endpoint }: { readonly endpoint: EndpointWithHealth }) {
  return (
    <Card
      title="Settings"
      actions={
        <Link to="/samples" search={{ endpoint: endpoint.id }}>
          Code samples
        </Link>
      }
    >
      <DataList>
        <Datum name="Id">
          <span className="id-with-copy">
            <code className="truncate">{endpoint.id}</code>
            <CopyIcon text={endpoint.id} what="endpoint id" />
          </span>
        </Datum>
        <Datum name="Events">
          <EventSummary events={endpoint.events} />
        </Datum>
        <Datum name="Widgets">
          {scopeText(endpoint.widget_ids)}
          {endpoint.widget_ids !== null && endpoint.widget_ids.length > 0 && (
            <details>
              <summary>Show the widgets</summary>
              {endpoint.widget_ids.map((id) => (
                <span key={id} className="widget-id">
                  <WidgetName id={id} />
                </span>
              ))}
            </details>
          )}
        </Datum>
        {deliveryFacts(endpoint).map(({ name, text, isCode }) => (
          <Datum key={name} name={name}>
            {isCode === true ? <code>{text}</code> : text}
          </Datum>
        ))}
        {endpoint.description !== null && (
          <Datum name="Description">
            <Name wraps>{endpoint.description}</Name>
          </Datum>
        )}
        <Datum name="Created">
          <Time iso={endpoint.created_at} />
        </Datum>
      </DataList>
    </Card>
  );
}

function EventSummary({ events }: { readonly events: readonly string[] }) {
  const { data: types } = useQuery(eventTypesQuery());
  if (events.length === 1) return <code>{events[0]}</code>;
  const families = familiesOf((types ?? []).filter(({ event }) => events.includes(event)));
  return (
    <details>
      <summary>{events.length} event types</summary>
      <ul className="event-summary">
        {families.map(({ family, title, types: ofFamily }) => (
          <li key={family}>
            <span className="muted">{title}</span>
            {ofFamily.map(({ event }) => (
              <code key={event}>{event}</code>
            ))}
          </li>
        ))}
      </ul>
    </details>
  );
}
