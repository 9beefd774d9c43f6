import { Controller, Get, Inject, Query } from '@nestjs/common';
import type { Clock, OrgId } from '#libs/domain';
import { DashboardFigures, EndpointHealthReader, EndpointRecords, FeedReader } from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { QueryParameters } from '../http/query-parameters.js';
import { ReadsQuery } from '../http/refuse-parameters.guard.js';
import { minuteBuckets } from './activity-buckets.js';
import { countedInTime } from './counted-in-time.js';
import { overviewJson, type OverviewJson } from './overview.presenter.js';
import { ProjectionLag } from './projection-lag.js';
import { ShortMemory } from './short-memory.js';
import { WindowCounts } from './window-counts.js';

const DEFAULT_MINUTES = 60;
const MIN_MINUTES = 5;
const MAX_MINUTES = 1_440;

function parseMinutes(query: unknown): number {
  const parameters = new QueryParameters(query, ['minutes']);
  const minutes = parameters.integer('minutes', MIN_MINUTES, MAX_MINUTES) ?? DEFAULT_MINUTES;
  parameters.throwIfAny();
  return minutes;
}

/** `GET /dashboard/overview`: how an org is doing, at a glance. */
@Controller('api/v1/dashboard/overview')
export class ReadOverviewController {
  constructor(
    private readonly feed: FeedReader,
    private readonly endpoints: EndpointRecords,
    private readonly health: EndpointHealthReader,
    private readonly figures: DashboardFigures,
    private readonly counts: WindowCounts,
    private readonly lag: ProjectionLag,
    private readonly memory: ShortMemory,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @ReadsQuery()
  @RequireScope('webhooks:read')
  async read(@OrgOfKey() orgId: OrgId, @Query() query: unknown): Promise<{ readonly data: OverviewJson }> {
    const minutes = parseMinutes(query);
    const asking = this.memory.ask(orgId, `overview ${minutes}`, () => this.#overview(orgId, minutes));
    return { data: await countedInTime('minutes', asking) };
  }

  async #overview(orgId: OrgId, minutes: number): Promise<OverviewJson> {
    const asOfMs = this.clock.now();
    const buckets = minuteBuckets(minutes, asOfMs);
    const [bounds, lagSeconds, endpoints, recent, events, attempts, outcomes, latency] = await Promise.all([
      this.feed.bounds(orgId, asOfMs),
      this.memory.ask(null, 'lag', () => this.lag.seconds()),
      this.endpoints.list(orgId),
      this.health.recent(orgId, asOfMs),
      this.figures.eventCounts(orgId, buckets),
      this.counts.attemptTotals(orgId, buckets, asOfMs),
      this.counts.outcomes(orgId, buckets.startMs, asOfMs),
      this.figures.pushLatency(orgId, new Date(buckets.startMs)),
    ]);
    return overviewJson({
      asOfMs,
      buckets,
      bounds,
      lagSeconds,
      endpoints,
      recent,
      events,
      attempts,
      outcomes,
      latency,
    });
  }
}
