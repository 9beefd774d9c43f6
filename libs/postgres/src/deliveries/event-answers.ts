import { setImmediate } from 'node:timers/promises';
import {
  seqFromText,
  whyNotDelivered,
  type AskedEvent,
  type EndpointHistory,
  type EndpointId,
  type EventFilters,
  type OrgId,
  type StoredInactivity,
  type WhyNotDelivered,
  type WidgetId,
} from '#libs/domain';
import type { Store } from '../connection/store.js';
import type { DeliveryLog, EventDelivery } from './delivery-log.js';

/** What became of an event on its way to one endpoint. */
export interface EventAnswer {
  readonly endpointId: EndpointId;
  readonly endpointName: string | null;
  readonly url: string;
  /** The delivery; otherwise why there is none. */
  readonly outcome: EventDelivery | WhyNotDelivered;
}

interface EndpointRow {
  readonly id: EndpointId;
  readonly name: string | null;
  readonly url: string;
  readonly is_active: boolean;
  readonly events: string[];
  readonly widget_ids: WidgetId[] | null;
  readonly filter: string | null;
  readonly created_at: Date;
  readonly receives_after_seq: string;
  readonly subscription_changed_at: Date | null;
  readonly inactivity:
    | {
        readonly beganAt: string;
        readonly beganAfterSeq: number | null;
        readonly endedAt: string | null;
        readonly endedAfterSeq: number | null;
      }[]
    | null;
}

/** Answers that are found before other requests run. */
const ANSWERED_AT_ONCE = 10;

/** Says for each endpoint of an org what became of an event. */
export class EventAnswers {
  constructor(
    private readonly store: Store,
    private readonly deliveries: Pick<DeliveryLog, 'ofEvent'>,
    private readonly filters: EventFilters,
  ) {}

  /** Returns exactly one answer for each endpoint of today, in the order of their registration. */
  async of(orgId: OrgId, event: AskedEvent): Promise<readonly EventAnswer[]> {
    const endpoints = await this.#endpoints(orgId, event);
    const deliveries = new Map(
      (await this.deliveries.ofEvent(orgId, event.id, event.appendedAt)).map((delivery) => [
        delivery.endpointId,
        delivery,
      ]),
    );
    const answers: EventAnswer[] = [];
    for (const [index, row] of endpoints.entries()) {
      // Lets other requests run: a filter may take up to a millisecond.
      if (index % ANSWERED_AT_ONCE === ANSWERED_AT_ONCE - 1) await setImmediate();
      const outcome = deliveries.get(row.id) ?? whyNotDelivered(historyOf(row), event, this.filters);
      answers.push({ endpointId: row.id, endpointName: row.name, url: row.url, outcome });
    }
    return answers;
  }

  /** Reads only the periods that may hold the event. */
  async #endpoints(orgId: OrgId, { seq, appendedAt }: AskedEvent): Promise<readonly EndpointRow[]> {
    return this.store.forOrg(
      orgId,
      async (runner) =>
        (await runner.query(
          `select e.id, e.name, e.url, e.is_active, e.events, e.widget_ids, e.filter, e.created_at,
             e.receives_after_seq, e.subscription_changed_at, p.inactivity
           from endpoints e
           left join lateral (
             select json_agg(json_build_object('beganAt', began_at, 'beganAfterSeq', began_after_seq,
               'endedAt', ended_at, 'endedAfterSeq', ended_after_seq) order by activation) as inactivity
             from endpoint_inactive_periods
             where endpoint_id = e.id and (began_at <= $1 or began_after_seq < $2)
               and (ended_at is null or ended_at > $1 or ended_after_seq >= $2)
           ) p on true
           where e.kind = 'webhook' order by e.created_at, e.id`,
          [appendedAt, seq],
        )) as EndpointRow[],
    );
  }
}

function historyOf(row: EndpointRow): EndpointHistory {
  return {
    id: row.id,
    isActive: row.is_active,
    events: row.events,
    widgetIds: row.widget_ids,
    filter: row.filter,
    createdAt: row.created_at,
    receivesAfterSeq: seqFromText(row.receives_after_seq),
    subscriptionChangedAt: row.subscription_changed_at,
    inactivity: (row.inactivity ?? []).map(({ beganAt, beganAfterSeq, endedAt, endedAfterSeq }): StoredInactivity => ({
      beganAt: new Date(beganAt),
      beganAfterSeq: beganAfterSeq === null ? null : seqFromText(String(beganAfterSeq)),
      endedAt: endedAt === null ? null : new Date(endedAt),
      endedAfterSeq: endedAfterSeq === null ? null : seqFromText(String(endedAfterSeq)),
    })),
  };
}
