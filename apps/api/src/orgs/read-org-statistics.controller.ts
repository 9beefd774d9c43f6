import { Controller, Get, Inject, Query } from '@nestjs/common';
import type { Clock, OrgId } from '#libs/domain';
import { EndpointHealthReader, EndpointRecords, FeedReader, OrgStatistics } from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import { RequireScope } from '../auth/require-scope.js';
import { bucketsUntil } from '../dashboard/activity-buckets.js';
import { endpointsByStatus } from '../dashboard/overview.presenter.js';
import { ProjectionLag } from '../dashboard/projection-lag.js';
import { ShortMemory } from '../dashboard/short-memory.js';
import { QueryParameters } from '../http/query-parameters.js';
import { ReadsQuery } from '../http/refuse-parameters.guard.js';
import { orgStatisticsJson } from './org.presenter.js';
import { ManagedOrg } from './service-key.decorator.js';

const DEFAULT_DAYS = 7;
const MAX_DAYS = 31;
const DAY_MS = 86_400_000;
/** Attempts are stored soon after they begin. This also covers clocks that differ. */
const SETTLED_AFTER_MS = 3_600_000;
/** A lag of this many seconds or more has no upper bound. */
const UNBOUNDED_LAG_SECONDS = 86_400;
const REMEMBERED_MS = 10_000;

/** `GET /internal/orgs/:orgId/statistics`: what an org used, by day. */
@Controller('api/v1/internal/orgs/:orgId/statistics')
export class ReadOrgStatisticsController {
  constructor(
    private readonly feed: FeedReader,
    private readonly endpoints: EndpointRecords,
    private readonly health: EndpointHealthReader,
    private readonly statistics: OrgStatistics,
    private readonly lag: ProjectionLag,
    private readonly memory: ShortMemory,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @ReadsQuery()
  @RequireScope('orgs:write')
  async read(@ManagedOrg() orgId: OrgId, @Query() query: unknown) {
    const parameters = new QueryParameters(query, ['days']);
    const days = parameters.integer('days', 1, MAX_DAYS) ?? DEFAULT_DAYS;
    parameters.throwIfAny();
    return { data: await this.memory.ask(orgId, `statistics ${days}`, () => this.#read(orgId, days), REMEMBERED_MS) };
  }

  async #read(orgId: OrgId, count: number) {
    const asOfMs = this.clock.now();
    const { startMs } = bucketsUntil(asOfMs, DAY_MS, count);
    const lagSeconds = await this.memory.ask(null, 'lag', () => this.lag.seconds());
    const [bounds, endpoints, recent, pending, days] = await Promise.all([
      this.feed.bounds(orgId, asOfMs),
      this.endpoints.list(orgId),
      this.health.recent(orgId, asOfMs),
      this.statistics.pending(orgId),
      this.statistics.byDay(orgId, { startMs, count, settledMs: settledBefore(asOfMs, lagSeconds) }, () =>
        performance.now(),
      ),
    ]);
    const { headSeq, oldestSeq } = bounds;
    const statuses = endpointsByStatus({ endpoints, recent });
    return orgStatisticsJson({ asOfMs, headSeq, oldestSeq, lagSeconds, endpoints: statuses, pending, days });
  }
}

/** Returns the time before which all attempts are known. */
function settledBefore(nowMs: number, lagSeconds: number | null): number {
  if (lagSeconds === null || lagSeconds >= UNBOUNDED_LAG_SECONDS) return 0;
  return nowMs - lagSeconds * 1_000 - SETTLED_AFTER_MS;
}
