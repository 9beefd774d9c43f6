import { Controller, Get, Inject, Query } from '@nestjs/common';
import { parseEndpointId, type Clock, type EndpointId, type OrgId } from '#libs/domain';
import { EndpointHealthReader, EndpointRecords } from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { QueryParameters } from '../http/query-parameters.js';
import { ReadsQuery } from '../http/refuse-parameters.guard.js';
import { noSuchEndpoint } from '../webhooks/endpoint-id.pipe.js';
import { activityBuckets } from './activity-buckets.js';
import { activityJson, type ActivityJson } from './activity.presenter.js';
import { countedInTime } from './counted-in-time.js';
import { ShortMemory } from './short-memory.js';
import { WindowCounts } from './window-counts.js';

const DEFAULT_HOURS = 24;
const MAX_HOURS = 720;

interface ActivityQuery {
  readonly hours: number;
  readonly endpointId: EndpointId | undefined;
}

/** @throws GaplessError `not_found` for a malformed endpoint id, as for one in a path */
function parseActivityQuery(query: unknown): ActivityQuery {
  const parameters = new QueryParameters(query, ['hours', 'endpoint_id']);
  const hours = parameters.integer('hours', 1, MAX_HOURS) ?? DEFAULT_HOURS;
  const text = parameters.text('endpoint_id');
  parameters.throwIfAny();
  const endpointId = parseEndpointId(text);
  if (text !== undefined && endpointId === undefined) throw noSuchEndpoint();
  return { hours, endpointId };
}

/** `GET /dashboard/activity`: the pushes to each endpoint, over time. */
@Controller('api/v1/dashboard/activity')
export class ReadActivityController {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly health: EndpointHealthReader,
    private readonly counts: WindowCounts,
    private readonly memory: ShortMemory,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @ReadsQuery()
  @RequireScope('webhooks:read')
  async read(@OrgOfKey() orgId: OrgId, @Query() query: unknown): Promise<{ readonly data: readonly ActivityJson[] }> {
    const wanted = parseActivityQuery(query);
    const question = `activity ${wanted.hours} ${wanted.endpointId ?? ''}`;
    const asking = this.memory.ask(orgId, question, () => this.#activity(orgId, wanted));
    return { data: await countedInTime('hours', asking) };
  }

  async #activity(orgId: OrgId, { hours, endpointId }: ActivityQuery): Promise<readonly ActivityJson[]> {
    const all = await this.endpoints.list(orgId);
    const shown = endpointId === undefined ? all : all.filter(({ id }) => id === endpointId);
    if (endpointId !== undefined && shown.length === 0) throw noSuchEndpoint();
    const nowMs = this.clock.now();
    const buckets = activityBuckets(hours, nowMs);
    const [attempts, recent] = await Promise.all([
      this.counts.attempts(orgId, buckets, nowMs, endpointId),
      this.health.recent(orgId, nowMs, endpointId && [endpointId]),
    ]);
    return activityJson(shown, buckets, attempts, recent);
  }
}
