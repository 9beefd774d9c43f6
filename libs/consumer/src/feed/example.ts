import type { GaplessEvent } from '../../../event-types/src/index.js';

/**
 * Whether the event is an example that someone sent to one endpoint (contract 4.5). It has the type of real events and
 * is in the feed, but what it says did not happen.
 */
export function isExample({ id }: Pick<GaplessEvent, 'id'>): boolean {
  return id.startsWith('evt_EXAMPLE');
}
