import { memberSlices } from '#libs/domain';
import type { FeedItem } from '#libs/postgres';
import type { VerbatimJson } from './verbatim-json.js';

/** Marks contents that anybody may have written, such as the visitors of a site. */
export const UNTRUSTED_META = { 'gapless/untrusted': true } as const;

/** Returns the event as MCP shows it. `data` is the stored text, which takes its place when the message is printed. */
export function eventOccurrence({ seq, event, envelope }: FeedItem, verbatim: VerbatimJson) {
  const members = memberSlices(envelope);
  const value = (name: string): unknown => JSON.parse(members.get(name) ?? 'null');
  return {
    eventId: value('id'),
    name: event,
    timestamp: value('occurred_at'),
    data: verbatim.place(members.get('data') ?? '{}'),
    _meta: { 'gapless/seq': seq, 'gapless/widget_id': value('widget_id'), ...UNTRUSTED_META },
  };
}
