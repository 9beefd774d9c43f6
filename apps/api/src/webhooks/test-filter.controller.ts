import { setImmediate } from 'node:timers/promises';
import { Controller, HttpCode, Inject, Post } from '@nestjs/common';
import {
  GaplessError,
  SEQ_NONE,
  type Clock,
  type EventFilters,
  type FilterResult,
  type OrgId,
  type Seq,
} from '#libs/domain';
import { FeedReader, type FeedItem } from '#libs/postgres';
import { CLOCK, EVENT_FILTERS } from '#libs/platform';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { checkEventFilter, checkFilterText } from './check-event-filter.js';
import { TestFilterDto } from './test-filter.dto.js';

const DEFAULT_LIMIT = 100;
/** The largest events that are read for a test, bytes in all. A larger one comes alone. */
const MAX_BYTES = 4 * 1024 * 1024;
/** Evaluating takes no longer. The newest events are tested first. */
const MAX_MS = 500;
/** Events that are tested before other requests run. */
const AT_ONCE = 10;
/** The bytes of such events. A larger event comes alone. */
const BYTES_AT_ONCE = 256 * 1024;

const RESULTS = { matches: 'matched', leaves_out: 'left_out', fails: 'failed' } as const;

/** `POST /external/webhooks/filter-test`: says what a filter would do with stored events (contract 3.7). */
@Controller('api/v1/external/webhooks/filter-test')
export class TestFilterController {
  /** The organizations with a test that runs. */
  readonly #running = new Set<OrgId>();

  constructor(
    private readonly feed: FeedReader,
    @Inject(EVENT_FILTERS) private readonly filters: EventFilters,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Post()
  @HttpCode(200)
  @RequireScope('webhooks:read', 'events:read')
  async test(@OrgOfKey() orgId: OrgId, @JsonBody(TestFilterDto) body: TestFilterDto) {
    const { filter } = body;
    const events = body.events ?? [];
    if (events.length === 0) checkFilterText(filter);
    else checkEventFilter(filter, events);
    if (this.#running.has(orgId)) {
      throw new GaplessError('rate_limited', 'Another filter is being tested.', { retryAfterSeconds: 1 });
    }
    this.#running.add(orgId);
    try {
      const query = {
        since: (body.since ?? SEQ_NONE) as Seq,
        limit: body.limit ?? DEFAULT_LIMIT,
        isDescending: true,
        maxBytes: MAX_BYTES,
        ...(events.length === 0 ? {} : { events }),
      };
      const page = await this.feed.page(orgId, query, this.clock.now());
      const tested = await this.#testAll(filter, page.items);
      const count = (wanted: string) => tested.filter(({ result }) => result === wanted).length;
      return {
        data: {
          tested: tested.length,
          matched: count('matched'),
          left_out: count('left_out'),
          failed: count('failed'),
          is_complete: page.nextSeq === null && tested.length === page.items.length,
          events: tested,
        },
      };
    } finally {
      this.#running.delete(orgId);
    }
  }

  async #testAll(filter: string, items: readonly FeedItem[]) {
    const until = performance.now() + MAX_MS;
    const tested = [];
    let [count, bytes] = [0, 0];
    for (const { seq, event, envelope } of items) {
      if (count === AT_ONCE || bytes + envelope.length > BYTES_AT_ONCE) {
        await setImmediate();
        [count, bytes] = [0, 0];
      }
      count++;
      bytes += envelope.length;
      if (performance.now() > until) break;
      const { id, occurred_at } = headOf(envelope);
      const result = this.filters.test(filter, Buffer.from(envelope));
      tested.push({ id, seq, event, occurred_at, result: RESULTS[result.kind], reason: reasonOf(result) });
    }
    return tested;
  }
}

/** Returns the members of an event before `timestamp`, without parsing its payload. */
function headOf(envelope: string): Readonly<Record<'id' | 'occurred_at', string>> {
  return JSON.parse(`${envelope.slice(0, envelope.indexOf(',"timestamp":'))}}`) as ReturnType<typeof headOf>;
}

function reasonOf(result: FilterResult): string | null {
  return result.kind === 'fails' ? result.reason : null;
}
