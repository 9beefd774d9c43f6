import { memberSlices, type EventId, type EventType, type OrgId, type WidgetId } from '#libs/domain';
import {
  MemberProblem,
  readId,
  readOccurredAt,
  readOrgId,
  readType,
  readWidgetId,
  type EventRules,
} from './event-members.js';
import { isJsonObject } from './json-object.js';
import type { ProblemList } from './problem-list.js';
import { refuseUnknownMembers } from './unknown-members.js';
import { validateEventData } from './validate-event-data.js';

/** An event that passed every rule of contract 5.6. */
export interface SubmittedEvent {
  /** The producer's id; if null, the api makes one. */
  readonly id: EventId | null;
  readonly event: EventType;
  /** The submitted instant, as ISO 8601 in UTC with milliseconds. */
  readonly occurredAt: string;
  readonly orgId: OrgId;
  readonly widgetId: WidgetId | null;
  /** The payload's JSON text as it was sent. */
  readonly dataJson: string;
}

const MEMBERS: ReadonlySet<string> = new Set(['id', 'event', 'occurred_at', 'org_id', 'widget_id', 'data']);

/** @param type If the type is invalid there is no schema, and `data` only needs to be an object. */
function refuseInvalidData(
  data: unknown,
  type: EventType | MemberProblem,
  pointer: string,
  problems: ProblemList,
): void {
  if (data === undefined) problems.add(pointer, 'required', 'is required');
  else if (!isJsonObject(data)) problems.add(pointer, 'wrong_type', 'must be an object');
  else if (!(type instanceof MemberProblem)) {
    for (const problem of validateEventData(type, data)) {
      problems.add(`${pointer}${problem.pointer}`, problem.code, problem.detail);
    }
  }
}

/**
 * Checks one event and keeps its payload as it was sent.
 * @param value The event as parsed from `text`; of members with the same name the last counts, here and in the payload.
 * @param pointer The place of the event in its document (`#/events/0`).
 * @param problems Collects the problems. The returned event is valid only if none was added.
 */
export function parseEvent(
  value: unknown,
  text: string,
  pointer: string,
  rules: EventRules,
  problems: ProblemList,
): SubmittedEvent | undefined {
  if (!isJsonObject(value)) {
    problems.add(pointer, 'wrong_type', 'must be an object');
    return undefined;
  }
  refuseUnknownMembers(value, MEMBERS, pointer, problems);
  const id = readId(value['id'], rules);
  const event = readType(value['event'], rules);
  const occurredAt = readOccurredAt(value['occurred_at'], rules);
  const orgId = readOrgId(value['org_id'], rules);
  const widgetId = readWidgetId(value['widget_id'], event);
  for (const [name, member] of [
    ['id', id],
    ['event', event],
    ['occurred_at', occurredAt],
    ['org_id', orgId],
    ['widget_id', widgetId],
  ] as const) {
    if (member instanceof MemberProblem) problems.add(`${pointer}/${name}`, member.code, member.detail);
  }
  refuseInvalidData(value['data'], event, `${pointer}/data`, problems);
  const dataJson = memberSlices(text).get('data');
  if (
    id instanceof MemberProblem ||
    event instanceof MemberProblem ||
    occurredAt instanceof MemberProblem ||
    orgId instanceof MemberProblem ||
    widgetId instanceof MemberProblem ||
    dataJson === undefined
  ) {
    return undefined;
  }
  return { id, event, occurredAt, orgId, widgetId, dataJson };
}
