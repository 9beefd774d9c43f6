import {
  EVENT_TYPES,
  MAX_FILTER_LENGTH,
  isEventType,
  isIngestable,
  isSigningSecret,
  isSubscribable,
  parseWidgetId,
} from '#libs/domain';
import type { MemberRule } from '../http/checked.decorator.js';
import {
  aBoolean,
  aLineOf,
  anArrayOf,
  aShownTextOf,
  aString,
  aTextOf,
  described,
  problem,
} from '../http/member-rules.js';

/** Longest part of an unknown type that is repeated to the caller. */
const MAX_ECHO_LENGTH = 64;

/** `EndpointUrlCheck` checks the rules for urls. */
export const endpointUrl = described(aString, {
  format: 'uri',
  maxLength: 2_048,
  description: 'The URL that receives pushes: https, on the public network, without credentials or fragment.',
});

/** Where tokens for an endpoint are fetched; checked in the same way. */
export const tokenUrl = described(aString, { format: 'uri', maxLength: 2_048 });

export const endpointName = described(aLineOf(120), { description: 'A label for operators.' });

export const endpointDescription = described(aShownTextOf(1_000), { description: 'What the endpoint is for.' });

function aTypeThat(isAllowed: (text: string) => boolean, refusal: string): MemberRule {
  return {
    schema: { type: 'string', enum: EVENT_TYPES.filter(isAllowed) },
    check: (type) => {
      if (typeof type !== 'string') return [problem('wrong_type', 'must be a string')];
      if (isAllowed(type)) return [];
      const name = JSON.stringify(type.slice(0, MAX_ECHO_LENGTH));
      const detail = isEventType(type) ? `${name} ${refusal}` : `${name} is not an event type`;
      return [problem('unknown_event_type', detail)];
    },
  };
}

/** A type that an endpoint can subscribe to. */
const anEventType = aTypeThat(isSubscribable, 'cannot be subscribed to');

/** A type whose example can be sent: all that producers may submit. */
export const anExampleType = aTypeThat(isIngestable, 'cannot be sent as an example');

/** Types that an endpoint can subscribe to, none twice. */
export function eventTypes(o: { readonly minItems?: number }): MemberRule {
  const maxItems = EVENT_TYPES.filter(isSubscribable).length;
  return anArrayOf(anEventType, { ...o, maxItems, uniqueItems: true, of: 'event types' });
}

/** The types that an endpoint subscribes to (contract 5.2): at least one, none twice, not `test`. */
export const someEventTypes = described(eventTypes({ minItems: 1 }), {
  description: 'The event types that the endpoint subscribes to.',
});

export const aWidgetId: MemberRule = {
  schema: { type: 'string', format: 'uuid' },
  check: (id) => {
    if (typeof id !== 'string') return [problem('wrong_type', 'must be a string')];
    return parseWidgetId(id) === undefined ? [problem('invalid_format', 'must be a UUID')] : [];
  },
};

/** The widgets that an endpoint is limited to (contract 7.3). */
export const widgetIds = described(anArrayOf(aWidgetId, { maxItems: 1_000, of: 'UUIDs' }), {
  description:
    'null: all widgets and org-wide events. []: only org-wide events. A list: these widgets and org-wide events.',
});

/** `checkEventFilter` checks the expression itself. */
export const eventFilter = described(aTextOf(MAX_FILTER_LENGTH), {
  description:
    'An expression in CEL over the event, such as `event.data.priority == "urgent"`. Events for which it is false are not pushed. null: no filter.',
});

/** A secret that receivers have already, such as from another system (contract 2.2). */
export const givenSecret: MemberRule = {
  schema: {
    type: 'string',
    pattern: '^whsec_[A-Za-z0-9+/]{32,86}={0,2}$',
    description:
      'The signing secret, if receivers have one already: whsec_ and the base64 of 24 to 64 random bytes. Left out: Gapless makes one.',
  },
  check: (value) => {
    if (typeof value !== 'string') return [problem('wrong_type', 'must be a string')];
    if (isSigningSecret(value)) return [];
    return [problem('invalid_format', 'must be whsec_ followed by the base64 of 24 to 64 bytes')];
  },
};

export const activity = described(aBoolean, {
  description: 'true enables the endpoint again, with failure_count 0.',
});
