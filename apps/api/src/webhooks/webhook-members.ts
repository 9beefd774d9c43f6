import { isEventType, isSubscribable, parseWidgetId } from '#libs/domain';
import type { MemberCheck } from '../http/checked.decorator.js';
import { problem } from '../http/member-checks.js';

const MAX_WIDGETS = 1_000;
/** Longest part of an unknown type that is repeated to the caller. */
const MAX_ECHO_LENGTH = 64;

/** The types that an endpoint subscribes to (contract 5.2): at least one, none twice, not `test`. */
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

/** The widgets that an endpoint is limited to (contract 7.3). */
export const widgetIds: MemberCheck = (value) => {
  if (!Array.isArray(value)) return [problem('wrong_type', 'must be an array of UUIDs, or null')];
  if (value.length > MAX_WIDGETS) return [problem('out_of_range', `must not name more than ${MAX_WIDGETS} widgets`)];
  return value.flatMap((id: unknown, index) => {
    if (typeof id !== 'string') return [problem('wrong_type', 'must be a string', `/${index}`)];
    return parseWidgetId(id) === undefined ? [problem('invalid_format', 'must be a UUID', `/${index}`)] : [];
  });
};
