import { printable } from '../../../api-client/src/index.js';
import type { EventHead } from '../forwarding/push-headers.js';

/** Returns an event on one line: `#12  ticket.created  evt_…`. */
export function eventLine({ seq, event, id }: EventHead): string {
  return printable(`#${seq}  ${event}  ${id}`);
}
