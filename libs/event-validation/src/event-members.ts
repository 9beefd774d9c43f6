import {
  eventScope,
  isEventType,
  isIngestable,
  parseEventId,
  parseOrgId,
  parseWidgetId,
  type EventId,
  type EventType,
  type OrgId,
  type WidgetId,
} from '#libs/domain';
import type { ProblemCode } from './problem-list.js';
import { parseTimestamp } from './rfc3339.js';

/** The rules that differ between submission over HTTP and over Kafka. */
export interface EventRules {
  readonly idRequired: boolean;
  /** Whether `test` may be submitted; only the api does so. */
  readonly testAllowed: boolean;
  /** The one organization whose events may be submitted, and that of an event that names none; null: any, to be named. */
  readonly boundTo: OrgId | null;
  /** Milliseconds since the Unix epoch, printable: when an event that does not say so occurred. */
  readonly receivedAtMs: number;
}

/** Why a member is refused. */
export class MemberProblem {
  constructor(
    readonly code: ProblemCode,
    readonly detail: string,
  ) {}
}

const MAX_AHEAD_MS = 24 * 60 * 60 * 1000;
/** Longest part of an unknown type that is repeated to the caller. */
const MAX_ECHO_LENGTH = 64;

const REQUIRED = new MemberProblem('required', 'is required');
const NOT_A_STRING = new MemberProblem('wrong_type', 'must be a string');
const NOT_A_UUID = new MemberProblem('invalid_format', 'must be a UUID');

/** An id that the producer brings; null if there is none and none is required. */
export function readId(member: unknown, rules: EventRules): EventId | null | MemberProblem {
  if (member === undefined) return rules.idRequired ? REQUIRED : null;
  if (typeof member !== 'string') return NOT_A_STRING;
  return (
    parseEventId(member) ?? new MemberProblem('invalid_format', 'must be evt_ and 16 to 64 ASCII letters or digits')
  );
}

/** A type that may be submitted: not `test`, unless the rules allow it, and never `lead.captured`. */
export function readType(member: unknown, rules: EventRules): EventType | MemberProblem {
  if (member === undefined) return REQUIRED;
  if (typeof member !== 'string') return NOT_A_STRING;
  if (isIngestable(member) || (rules.testAllowed && member === 'test')) return member;
  const name = JSON.stringify(member.slice(0, MAX_ECHO_LENGTH));
  return new MemberProblem(
    'unknown_event_type',
    isEventType(member) ? `${name} cannot be submitted` : `${name} is not an event type`,
  );
}

/** The instant in UTC with milliseconds; an event that does not say so occurred when it was received. */
export function readOccurredAt(member: unknown, rules: EventRules): string | MemberProblem {
  if (member === undefined) return new Date(rules.receivedAtMs).toISOString();
  if (typeof member !== 'string') return NOT_A_STRING;
  const epochMs = parseTimestamp(member);
  if (epochMs === undefined) return new MemberProblem('invalid_format', 'must be an RFC 3339 date-time');
  return epochMs > rules.receivedAtMs + MAX_AHEAD_MS
    ? new MemberProblem('out_of_range', 'must not be more than 24 hours ahead')
    : new Date(epochMs).toISOString();
}

/** The organization named, or else the one that the rules are bound to. */
export function readOrgId(member: unknown, { boundTo }: EventRules): OrgId | MemberProblem {
  if (member === undefined) return boundTo ?? REQUIRED;
  if (typeof member !== 'string') return NOT_A_STRING;
  const orgId = parseOrgId(member);
  if (orgId === undefined) return NOT_A_UUID;
  return boundTo === null || orgId === boundTo
    ? orgId
    : new MemberProblem('insufficient_scope', 'the key lacks events:write for this organization');
}

/** The widget, or null; org-wide types have none. The scope of a type that could not be read cannot be checked. */
export function readWidgetId(member: unknown, type: EventType | MemberProblem): WidgetId | null | MemberProblem {
  if (member === undefined || member === null) return null;
  if (!(type instanceof MemberProblem) && eventScope(type) === 'org') {
    return new MemberProblem('not_allowed', `must be null: ${type} is an org-wide event`);
  }
  if (typeof member !== 'string') return new MemberProblem('wrong_type', 'must be a string or null');
  return parseWidgetId(member) ?? NOT_A_UUID;
}
