import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { activityQuery, endpointsQuery, overviewQuery } from '../api/queries.js';
import type { Activity, Endpoint, Overview } from '../api/resources.js';
import { ShareBar } from '../charts/share-bar.js';
import { shortNumber, wholeNumber } from '../charts/scale.js';
import { Sparkline } from '../charts/sparkline.js';
import { TimeChart } from '../charts/time-chart.js';
import { endpointTitle } from '../endpoints/endpoint-title.js';
import { byUrgency, healthOf } from '../endpoints/health-of.js';
import { durationText, millisecondsText } from '../time/time-text.js';
import { ButtonLink } from '../ui/button.js';
import { Card } from '../ui/card.js';
import { EmptyState, FailureNotice } from '../ui/notice.js';
import { PageHeader } from '../ui/page-header.js';
import { Segments } from '../ui/segments.js';
import { SkeletonBlock, SkeletonRows } from '../ui/skeleton.js';
import { HealthBadge } from '../ui/status-badge.js';
import { Tile, Tiles } from '../ui/tile.js';
import { Ago } from '../ui/time.js';
import './overview.css';

const WINDOWS = [
  { value: 15, text: '15 min' },
  { value: 60, text: '1 h' },
  { value: 360, text: '6 h' },
  { value: 1_440, text: '24 h' },
];
/** The lag of the projection in seconds, above which the page mentions it. */
const LAG_WORTH_SAYING_S = 5;
const LISTED = 6;

export function OverviewPage() {
  const [minutes, setMinutes] = useState(60);
  const { data: overview, error, refetch } = useQuery(overviewQuery(minutes));
  return (
    <>
      <PageHeader
        title="Overview"
        note="What goes in, what comes out, and how fast."
        actions={<Segments label="Time window" options={WINDOWS} value={minutes} onChange={setMinutes} />}
      />
      {error !== null && <FailureNotice error={error} onRetry={() => void refetch()} />}
      <Figures overview={overview} />
      <Card title="Events and deliveries" note="Per minute">
        {overview === undefined ? (
          <SkeletonBlock height="13.5rem" />
        ) : (
          <TimeChart
            label="Events and deliveries per minute"
            times={overview.minutes.map(({ at }) => at)}
            series={[
              {
                name: 'Delivered',
                tone: 'good',
                kind: 'bar',
                values: overview.minutes.map((minute) => minute.delivered),
              },
              {
                name: 'Failed attempts',
                tone: 'bad',
                kind: 'bar',
                values: overview.minutes.map((minute) => minute.failed_attempts),
              },
              { name: 'Events', tone: 'accent', kind: 'line', values: overview.minutes.map((minute) => minute.events) },
            ]}
          />
        )}
      </Card>
      <div className="columns-main">
        <EndpointsCard />
        <OutcomesCard overview={overview} />
      </div>
    </>
  );
}

function Figures({ overview }: { readonly overview: Overview | undefined }) {
  const latency = overview?.push_latency;
  return (
    <Tiles>
      <Tile
        label="Events per minute"
        value={overview && shortNumber(perMinute(overview))}
        note={overview && currentText(overview)}
      />
      <Tile
        label="Push latency, p95"
        value={latency && (latency.p95_ms === null ? '–' : millisecondsText(latency.p95_ms))}
        note={
          latency && (latency.p50_ms === null ? 'nothing delivered yet' : `p50 ${millisecondsText(latency.p50_ms)}`)
        }
      />
      <Tile
        label="Head of the log"
        value={overview && `#${wholeNumber(overview.head_seq)}`}
        note={overview && lagText(overview.projection_lag_seconds)}
      />
      <Tile
        label="Endpoints"
        value={overview && wholeNumber(endpointCount(overview))}
        note={overview && <HealthNote {...overview} />}
      />
    </Tiles>
  );
}

function HealthNote({ endpoints }: Overview) {
  if (endpoints.failing + endpoints.disabled === 0) return 'all healthy';
  return [
    endpoints.disabled > 0 && `${endpoints.disabled} disabled`,
    endpoints.failing > 0 && `${endpoints.failing} failing`,
    `${endpoints.healthy} healthy`,
  ]
    .filter((part) => part !== false)
    .join(', ');
}

function OutcomesCard({ overview }: { readonly overview: Overview | undefined }) {
  return (
    <Card title="Deliveries by outcome" note="Of the window above">
      {overview === undefined ? (
        <SkeletonBlock height="6.5rem" />
      ) : (
        <ShareBar
          shares={[
            { name: 'Delivered', tone: 'good', value: overview.outcomes.delivered },
            { name: 'Failed', tone: 'bad', value: overview.outcomes.failed },
            { name: 'Pending or retrying', tone: 'wait', value: overview.outcomes.pending },
          ]}
        />
      )}
    </Card>
  );
}

function EndpointsCard() {
  const { data: endpoints, error, refetch } = useQuery(endpointsQuery());
  const { data: activity } = useQuery(activityQuery(24));
  return (
    <Card
      title="Endpoints"
      note="Those that need you come first"
      flush
      actions={<Link to="/endpoints">All endpoints</Link>}
    >
      {endpoints === undefined ? (
        error === null ? (
          <SkeletonRows rows={4} rowHeight="3.25rem" />
        ) : (
          <div className="card-body">
            <FailureNotice error={error} onRetry={() => void refetch()} />
          </div>
        )
      ) : endpoints.length === 0 ? (
        <EmptyState
          icon="endpoint"
          title="No endpoints yet"
          action={
            <ButtonLink to="/endpoints/new" look="solid" icon="plus">
              New endpoint
            </ButtonLink>
          }
        >
          An endpoint is a URL of yours that events are pushed to. Without one, the events are in the feed all the same.
        </EmptyState>
      ) : (
        <ul className="overview-endpoints">
          {byUrgency(endpoints)
            .slice(0, LISTED)
            .map((endpoint) => (
              <EndpointLine key={endpoint.id} endpoint={endpoint} activity={activity} />
            ))}
        </ul>
      )}
    </Card>
  );
}

function EndpointLine({
  endpoint,
  activity,
}: {
  readonly endpoint: Endpoint;
  readonly activity: readonly Activity[] | undefined;
}) {
  const buckets = activity?.find(({ endpoint_id: id }) => id === endpoint.id)?.buckets ?? [];
  return (
    <li className="overview-endpoint">
      <HealthBadge status={healthOf(endpoint)} />
      <Link to="/endpoints/$endpointId" params={{ endpointId: endpoint.id }} className="row-link truncate">
        {endpointTitle(endpoint)}
      </Link>
      <Sparkline buckets={buckets} span="24 hours" />
      <span className="overview-endpoint-last muted">
        {endpoint.last_triggered_at === null ? 'never' : <Ago iso={endpoint.last_triggered_at} />}
      </span>
    </li>
  );
}

function perMinute({ minutes }: Overview): number {
  const events = minutes.reduce((sum, minute) => sum + minute.events, 0);
  const average = events / Math.max(1, minutes.length);
  return average < 10 ? Math.round(average * 10) / 10 : Math.round(average);
}

/** Shows the last whole minute, because the present one would always look too low. */
function currentText({ minutes }: Overview): string {
  const last = minutes.at(-2)?.events ?? 0;
  return `on average; ${wholeNumber(last)} in the last`;
}

function endpointCount({ endpoints }: Overview): number {
  return endpoints.healthy + endpoints.failing + endpoints.disabled;
}

function lagText(seconds: number | null): string {
  if (seconds === null) return 'how current is not known';
  return seconds < LAG_WORTH_SAYING_S ? 'up to date' : `shown ${durationText(Math.round(seconds))} behind`;
}
