import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { activityQuery, endpointsQuery, overviewQuery } from '../api/queries.js';
import type { Activity, Endpoint, Overview } from '../api/resources.js';
import { fittingWindow } from '../charts/fitting-window.js';
import { ShareBar } from '../charts/share-bar.js';
import { shortNumber, wholeNumber } from '../charts/scale.js';
import { Sparkline } from '../charts/sparkline.js';
import { TimeChart } from '../charts/time-chart.js';
import { endpointTitle } from '../endpoints/endpoint-title.js';
import { activityOf, autoDisabledText, byUrgency, failedText, healthOf, inARowText } from '../endpoints/health-of.js';
import { WINDOWS, type Window } from '../overview/overview-search.js';
import { useScope } from '../session/use-session.js';
import { durationText, millisecondsText } from '../time/time-text.js';
import { ButtonLink } from '../ui/button.js';
import { Card } from '../ui/card.js';
import { Name } from '../ui/name.js';
import { EmptyState, FailureNotice, Notice } from '../ui/notice.js';
import { PageHeader } from '../ui/page-header.js';
import { Segments } from '../ui/segments.js';
import { SkeletonBlock, SkeletonTiles } from '../ui/skeleton.js';
import { HealthBadge } from '../ui/status-badge.js';
import { Tile, Tiles } from '../ui/tile.js';
import { Ago, Time } from '../ui/time.js';
import './overview.css';

const WINDOW_TEXTS: Readonly<Record<Window, string>> = { 15: '15 min', 60: '1 h', 360: '6 h', 1_440: '24 h' };
/** The lag of the projection in seconds, above which the page mentions it. */
const LAG_WORTH_SAYING_S = 5;
const LISTED = 6;

const route = getRouteApi('/inside/');

export function OverviewPage() {
  const { minutes: chosen } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: hour } = useQuery({ ...overviewQuery(60), enabled: chosen === undefined });
  const minutes = chosen ?? fittingWindow(totalsOf(hour), 1, [15, 60]);
  const { data: overview, error, refetch } = useQuery(overviewQuery(minutes));
  const { data: endpoints, error: endpointsError, refetch: refetchEndpoints } = useQuery(endpointsQuery());
  const {
    data: activity,
    error: activityError,
    isFetched: isActivityAsked,
    refetch: refetchActivity,
  } = useQuery(activityQuery(24));
  const failure = error ?? endpointsError;
  const retry = () => {
    for (const again of [refetch, refetchEndpoints, refetchActivity]) void again();
  };
  // All at once, so that nothing moves when the next part comes. Without the activity, only the small charts are missing.
  const isActivityAwaited = activity === undefined && !isActivityAsked;
  const isLoading = overview === undefined || endpoints === undefined || isActivityAwaited;
  return (
    <>
      <PageHeader
        title="Overview"
        note="What needs you, what goes in, what comes out, and how fast."
        actions={
          <Segments
            label="Time window"
            options={WINDOWS.map((value) => ({ value, text: WINDOW_TEXTS[value] }))}
            value={minutes}
            onChange={(value) => void navigate({ search: { minutes: value }, resetScroll: false })}
          />
        }
      />
      {isLoading ? (
        failure === null ? (
          <OverviewSkeleton />
        ) : (
          <FailureNotice error={failure} onRetry={retry} />
        )
      ) : (
        <>
          <Attention endpoints={endpoints} activity={activity} />
          <Figures overview={overview} />
          <ChartCard overview={overview} />
          {activity === undefined && activityError !== null && (
            <FailureNotice error={activityError} onRetry={() => void refetchActivity()} />
          )}
          <div className="columns-main">
            <EndpointsCard endpoints={endpoints} activity={activity} />
            <OutcomesCard overview={overview} />
          </div>
        </>
      )}
    </>
  );
}

/** In the places of what comes. */
function OverviewSkeleton() {
  return (
    <>
      <SkeletonTiles />
      <SkeletonBlock height="18rem" />
      <div className="columns-main">
        <SkeletonBlock height="20rem" />
        <SkeletonBlock height="11rem" />
      </div>
    </>
  );
}

/** Leads to the endpoints that do not get what they should. */
function Attention({ endpoints, activity }: EndpointsCardProps) {
  const broken = byUrgency(endpoints, activity).filter((endpoint) =>
    ['disabled', 'failing'].includes(healthOf(endpoint, activity)),
  );
  if (broken.length === 0) return null;
  const title =
    broken.length === 1 ? '1 endpoint does not get its events' : `${broken.length} endpoints do not get their events`;
  return (
    <Notice tone="bad" title={title}>
      <ul className="attention">
        {broken.slice(0, LISTED).map((endpoint) => (
          <li key={endpoint.id} className="row attention-endpoint">
            <HealthBadge status={healthOf(endpoint, activity)} />
            <Link to="/endpoints/$endpointId" params={{ endpointId: endpoint.id }}>
              <Name>{endpointTitle(endpoint)}</Name>
            </Link>
            <span>
              <BrokenText endpoint={endpoint} health={activityOf(endpoint.id, activity)?.health} />
            </span>
          </li>
        ))}
      </ul>
      {broken.length > LISTED && <Link to="/endpoints">All endpoints</Link>}
    </Notice>
  );
}

/** Shows why the endpoint does not get its events. The list of endpoints may be newer than their activity. */
function BrokenText({
  endpoint,
  health,
}: {
  readonly endpoint: Endpoint;
  readonly health: Activity['health'] | undefined;
}) {
  if (endpoint.is_active) return (health && failedText(health)) ?? inARowText(endpoint.failure_count);
  const why = autoDisabledText(health?.disabled_reason ?? null);
  if (!health?.disabled_at || why === undefined) return 'receives nothing until it is enabled';
  return (
    <>
      since <Time iso={health.disabled_at} />: {why}
    </>
  );
}

function ChartCard({ overview }: { readonly overview: Overview }) {
  const values = (member: 'events' | 'delivered' | 'failed_attempts') =>
    overview.minutes.map((minute) => minute[member]);
  return (
    <Card title="Events and deliveries" note="Per minute">
      <TimeChart
        label="Events and deliveries per minute"
        times={overview.minutes.map(({ at }) => at)}
        series={[
          { name: 'Delivered', tone: 'good', kind: 'bar', values: values('delivered') },
          { name: 'Failed attempts', tone: 'bad', kind: 'bar', values: values('failed_attempts') },
          { name: 'Events', tone: 'accent', kind: 'line', values: values('events') },
        ]}
      />
    </Card>
  );
}

function totalsOf(overview: Overview | undefined): readonly number[] {
  return (overview?.minutes ?? []).map(({ events, delivered, failed_attempts: failed }) => events + delivered + failed);
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

const STATUS_TEXTS = [
  ['disabled', 'disabled'],
  ['failing', 'failing'],
  ['paused', 'paused'],
  ['never_tried', 'never tried'],
  ['healthy', 'healthy'],
] as const;

function HealthNote({ endpoints }: Overview) {
  if (endpoints.healthy > 0 && endpoints.healthy === endpointCount({ endpoints })) return 'all healthy';
  return STATUS_TEXTS.filter(([status]) => endpoints[status] > 0)
    .map(([status, text]) => `${endpoints[status]} ${text}`)
    .join(', ');
}

function OutcomesCard({ overview }: { readonly overview: Overview }) {
  return (
    <Card title="Deliveries by outcome" note="Of the window above">
      <ShareBar
        shares={[
          { name: 'Delivered', tone: 'good', value: overview.outcomes.delivered },
          { name: 'Failed', tone: 'bad', value: overview.outcomes.failed },
          { name: 'Pending or retrying', tone: 'wait', value: overview.outcomes.pending },
        ]}
      />
    </Card>
  );
}

interface EndpointsCardProps {
  readonly endpoints: readonly Endpoint[];
  /** `undefined` if it could not be read. */
  readonly activity: readonly Activity[] | undefined;
}

function EndpointsCard({ endpoints, activity }: EndpointsCardProps) {
  const mayWrite = useScope('webhooks:write');
  return (
    <Card
      title="Endpoints"
      note="Those that need you come first"
      flush
      actions={<Link to="/endpoints">All endpoints</Link>}
    >
      {endpoints.length === 0 ? (
        <EmptyState
          icon="endpoint"
          title="No endpoints yet"
          action={
            mayWrite && (
              <ButtonLink to="/endpoints/new" look="solid" icon="plus">
                New endpoint
              </ButtonLink>
            )
          }
        >
          An endpoint is a URL of yours that events are pushed to. Without one, the events are in the feed all the same.
        </EmptyState>
      ) : (
        <ul className="overview-endpoints">
          {byUrgency(endpoints, activity)
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
  return (
    <li className="overview-endpoint">
      <HealthBadge status={healthOf(endpoint, activity)} />
      <Link to="/endpoints/$endpointId" params={{ endpointId: endpoint.id }} className="row-link truncate">
        <Name>{endpointTitle(endpoint)}</Name>
      </Link>
      <Sparkline buckets={activityOf(endpoint.id, activity)?.buckets} span="24 hours" />
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

function endpointCount({ endpoints }: Pick<Overview, 'endpoints'>): number {
  return Object.values(endpoints).reduce((sum, count) => sum + count, 0);
}

function lagText(seconds: number | null): string {
  if (seconds === null) return 'how current is not known';
  return seconds < LAG_WORTH_SAYING_S ? 'up to date' : `shown ${durationText(Math.round(seconds))} behind`;
}
