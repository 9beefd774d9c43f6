import type { GaplessEvent } from '../../../event-types/src/index.js';

export const ORG = '0f8fad5b-d9cb-469f-a165-70867728950e';

/** Returns the JSON of the event with this seq. Parsing and printing its payload would change the spelling. */
export function anEventJson(seq: number, orgId = ORG): string {
  const at = '2026-03-02T09:12:44.000Z';
  return (
    `{"id":"evt_${String(seq).padStart(26, '0')}","seq":${seq},"event":"ticket.created","occurred_at":"${at}",` +
    `"timestamp":"${at}","org_id":"${orgId}","widget_id":null,"data":{"n": 1.0}}`
  );
}

export function anEvent(seq: number, orgId = ORG): GaplessEvent {
  return JSON.parse(anEventJson(seq, orgId)) as GaplessEvent;
}
