import type { DeliveryStatus, EventType } from '../api/resources.js';
import { parsePageSearch, type PageSearch } from '../ui/page-search.js';

/** The filter of deliveries in the address of the page. */
export interface DeliverySearch extends PageSearch {
  readonly status?: DeliveryStatus;
  readonly event?: EventType['event'];
  readonly within?: Within;
  /** The range of the chart, hours. Without it, the page chooses one that suits the data. */
  readonly hours?: number;
}

/** How far back to look. */
export type Within = '1h' | '24h' | '7d';

/** The ranges of the chart, hours. */
export const RANGES: readonly number[] = [1, 24, 168, 720];
const STATUSES: readonly DeliveryStatus[] = ['pending', 'delivered', 'failed'];
const HOURS: Readonly<Record<Within, number>> = { '1h': 1, '24h': 24, '7d': 168 };

/** Reads the parameters of an address, and ignores invalid ones. */
export function parseDeliverySearch(search: Record<string, unknown>): DeliverySearch {
  const status = STATUSES.find((candidate) => candidate === search['status']);
  const within = (Object.keys(HOURS) as Within[]).find((candidate) => candidate === search['within']);
  // The api decides whether there is such a type.
  const event = typeof search['event'] === 'string' && search['event'] !== '' ? search['event'] : undefined;
  return {
    ...(status === undefined ? {} : { status }),
    ...(event === undefined ? {} : { event: event as EventType['event'] }),
    ...(within === undefined ? {} : { within }),
    ...(RANGES.includes(Number(search['hours'])) ? { hours: Number(search['hours']) } : {}),
    ...parsePageSearch(search),
  };
}

/** Returns the start of the period in whole minutes, so that requests within a minute are the same. */
export function sinceOf(within: Within, nowMs: number): string {
  const minute = 60_000;
  return new Date(Math.floor(nowMs / minute) * minute - HOURS[within] * 60 * minute).toISOString();
}
