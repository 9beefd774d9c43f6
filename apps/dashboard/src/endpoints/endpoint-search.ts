import type { HealthStatus } from '../api/resources.js';

/** Which endpoints to list, in the address of the page. */
export interface EndpointSearch {
  readonly health?: HealthStatus;
  readonly text?: string;
}

/** The states by which endpoints are listed, in the order of their urgency. */
export const HEALTHS: readonly HealthStatus[] = ['disabled', 'failing', 'paused', 'never_tried', 'healthy'];

/** Reads the parameters of an address, and ignores invalid ones. */
export function parseEndpointSearch(search: Record<string, unknown>): EndpointSearch {
  const health = HEALTHS.find((status) => status === search['health']);
  // The router reads digits alone as a number.
  const text = ['string', 'number'].includes(typeof search['text']) ? String(search['text']) : '';
  return { ...(health === undefined ? {} : { health }), ...(text === '' ? {} : { text }) };
}
