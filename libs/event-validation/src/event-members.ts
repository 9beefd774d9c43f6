import {
  eventScope,
  isExampleId,
  isEventType,
  isIngestable,
  isOperational,
  isOperationalId,
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
  /** Whether `test` may be submitted; only the api submits it. */
  readonly testAllowed: boolean;
  /** Whether Gapless may have submitted it: operational types, and ids that are reserved for those and for examples. */
  readonly isFromGapless: boolean;
  /**
   * The only organization whose events are accepted, and the default of an event that names none. If null, every event
   * must name one.
   */
  readonly boundTo: OrgId | null;
  /** When the event was received, in epoch milliseconds, printable. The default of `occurred_at`. */
  readonly receivedAtMs: number;
}

/** The reason why a member is refused. */
export class MemberProblem {
  constructor(
    readonly code: ProblemCode,
    readonly detail: string,
  ) {}
}

const MAX_AHEAD_MS = 24 * 60 * 60 * 1000;
/** By how much the clocks of the api and of a broker may differ. What the api has accepted must not be refused later. */
const CLOCKS_DIFFER_MS = 10 * 60 * 1000;
/** The longest part of an unknown type that is repeated in the answer. */
const MAX_ECHO_LENGTH = 64;

const REQUIRED = new MemberProblem('required', 'is required');
const NOT_A_STRING = new MemberProblem('wrong_type', 'must be a string');
const NOT_A_UUID = new MemberProblem('invalid_format', 'must be a UUID');

/** Reads the producer's id; returns null if there is none and none is required. */
export function readId(member: unknown, rules: EventRules): EventId | null | MemberProblem {
  if (member === undefined) return rules.idRequired ? REQUIRED : null;
  if (typeof member !== 'string') return NOT_A_STRING;
  const id = parseEventId(member);
  if (id === undefined) {
    return new MemberProblem('invalid_format', 'must be evt_ and 16 to 64 ASCII letters or digits');
  }
  return !rules.isFromGapless && (isExampleId(id) || isOperationalId(id))
    ? new MemberProblem('not_allowed', 'must not begin with evt_EXAMPLE or evt_OPERATIONAL: such ids are reserved')
    : id;
}

/** Reads the type. It refuses `lead.captured`, and `test` unless the rules allow it. */
export function readType(member: unknown, rules: EventRules): EventType | MemberProblem {
  if (member === undefined) return REQUIRED;
  if (typeof member !== 'string') return NOT_A_STRING;
  if (isIngestable(member) || (rules.testAllowed && member === 'test')) return member;
  if (rules.isFromGapless && isEventType(member) && isOperational(member)) return member;
  const name = JSON.stringify(member.slice(0, MAX_ECHO_LENGTH));
  return new MemberProblem(
    'unknown_event_type',
    isOperational(member)
      ? `${name} cannot be submitted: only Gapless raises it`
      : isEventType(member)
        ? `${name} cannot be submitted`
        : `${name} is not an event type`,
  );
}

/** Reads the time, as UTC with milliseconds. Without one, the event occurred when it was received. */
export function readOccurredAt(member: unknown, rules: EventRules): string | MemberProblem {
  if (member === undefined) return new Date(rules.receivedAtMs).toISOString();
  if (typeof member !== 'string') return NOT_A_STRING;
  const epochMs = parseTimestamp(member);
  if (epochMs === undefined) return new MemberProblem('invalid_format', 'must be an RFC 3339 date-time');
  const maxAheadMs = rules.isFromGapless ? MAX_AHEAD_MS + CLOCKS_DIFFER_MS : MAX_AHEAD_MS;
  return epochMs > rules.receivedAtMs + maxAheadMs
    ? new MemberProblem('out_of_range', 'must not be more than 24 hours ahead')
    : new Date(epochMs).toISOString();
}

/** Reads the organization; without one, returns the organization of the rules. */
export function readOrgId(member: unknown, { boundTo }: EventRules): OrgId | MemberProblem {
  if (member === undefined) return boundTo ?? REQUIRED;
  if (typeof member !== 'string') return NOT_A_STRING;
  const orgId = parseOrgId(member);
  if (orgId === undefined) return NOT_A_UUID;
  return boundTo === null || orgId === boundTo
    ? orgId
    : new MemberProblem('insufficient_scope', 'the key lacks events:write for this organization');
}

/** Reads the widget, or null; org-wide types have none. It cannot check the scope if the type is invalid. */
export function readWidgetId(member: unknown, type: EventType | MemberProblem): WidgetId | null | MemberProblem {
  if (member === undefined || member === null) return null;
  if (!(type instanceof MemberProblem) && eventScope(type) === 'org') {
    return new MemberProblem('not_allowed', `must be null: ${type} is an org-wide event`);
  }
  if (typeof member !== 'string') return new MemberProblem('wrong_type', 'must be a string or null');
  return parseWidgetId(member) ?? NOT_A_UUID;
}
