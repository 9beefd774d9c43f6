import { isEventType, isSubscribable, parseWidgetId, type FieldProblem } from '#libs/domain';
import type { MemberCheck } from '../http/checked.decorator.js';

const MAX_WIDGETS = 1_000;
/** Longest part of an unknown type that is repeated to the caller. */
const MAX_ECHO_LENGTH = 64;

/** What a text member must not hold: Postgres stores no NUL, UTF-8 no lone surrogate, and nobody can see the rest. */
const UNPRINTABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]|\p{Surrogate}/u; // eslint-disable-line no-control-regex -- they are what is looked for

function problem(code: string, detail: string, pointer = ''): FieldProblem {
  return { pointer, code, detail };
}

/** A member that must be there, and pass the check. */
export const required =
  (check: MemberCheck): MemberCheck =>
  (value) =>
    value === undefined ? [problem('required', 'is required')] : check(value);

/** A member that may be absent, but not null. */
export const absentOr =
  (check: MemberCheck): MemberCheck =>
  (value) =>
    value === undefined ? [] : check(value);

export const aBoolean: MemberCheck = (value) =>
  typeof value === 'boolean' ? [] : [problem('wrong_type', 'must be a boolean')];

export const aString: MemberCheck = (value) =>
  typeof value === 'string' ? [] : [problem('wrong_type', 'must be a string')];

/** @param maxLength in characters, as a reader counts them */
export const aTextOf =
  (maxLength: number): MemberCheck =>
  (value) => {
    if (typeof value !== 'string') return [problem('wrong_type', 'must be a string or null')];
    if (Array.from(value).length > maxLength)
      return [problem('out_of_range', `must not be longer than ${maxLength} characters`)];
    return UNPRINTABLE.test(value) ? [problem('invalid_format', 'must not hold control characters')] : [];
  };

/** The types that an endpoint subscribes to (decisions, section 3): at least one, none twice, not `test`. */
export const someEventTypes: MemberCheck = (value) => {
  if (!Array.isArray(value)) return [problem('wrong_type', 'must be an array of event types')];
  if (value.length === 0) return [problem('out_of_range', 'must name at least one event type')];
  return value.flatMap((type: unknown, index) => {
    if (typeof type !== 'string') return [problem('wrong_type', 'must be a string', `/${index}`)];
    if (!isSubscribable(type)) {
      const name = JSON.stringify(type.slice(0, MAX_ECHO_LENGTH));
      const detail = isEventType(type) ? `${name} cannot be subscribed to` : `${name} is not an event type`;
      return [problem('unknown_event_type', detail, `/${index}`)];
    }
    return value.indexOf(type) === index ? [] : [problem('not_allowed', 'is there already', `/${index}`)];
  });
};

/** The widgets that an endpoint is limited to (spec 6.3). */
export const widgetIds: MemberCheck = (value) => {
  if (!Array.isArray(value)) return [problem('wrong_type', 'must be an array of UUIDs, or null')];
  if (value.length > MAX_WIDGETS) return [problem('out_of_range', `must not name more than ${MAX_WIDGETS} widgets`)];
  return value.flatMap((id: unknown, index) => {
    if (typeof id !== 'string') return [problem('wrong_type', 'must be a string', `/${index}`)];
    return parseWidgetId(id) === undefined ? [problem('invalid_format', 'must be a UUID', `/${index}`)] : [];
  });
};
