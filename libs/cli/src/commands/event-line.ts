import type { EventHead } from '../forwarding/push-headers.js';

/** Characters that could make a terminal do something. JSON leaves these in texts. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

/** Returns the text without characters that control a terminal. */
export function printable(text: string): string {
  return text.replaceAll(CONTROL, '�');
}

/** Returns an event on one line: `#12  ticket.created  evt_…`. */
export function eventLine({ seq, event, id }: EventHead): string {
  return printable(`#${seq}  ${event}  ${id}`);
}
