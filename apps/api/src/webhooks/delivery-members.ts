import {
  AUTH_TYPES,
  CLIENT_AUTHS,
  isReservedHeader,
  MAX_BATCH,
  MAX_CUSTOM_HEADERS,
  MAX_HEADER_NAME,
  MAX_HEADER_VALUE,
  ORDERINGS,
  SIGNATURE_KINDS,
  type EndpointAuth,
  type JsonObject,
  type OrderedBy,
} from '#libs/domain';
import type { MemberRule } from '../http/checked.decorator.js';
import { memberPointer } from '../http/validation-error.js';
import {
  aBoolean,
  absentOr,
  anIntegerOf,
  anObjectOf,
  aSetOf,
  aTextOf,
  described,
  oneOf,
  problem,
  required,
} from '../http/member-rules.js';
import { eventTypes, tokenUrl } from './webhook-members.js';

/** RFC 9110, 5.6.2. */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Visible ASCII characters, with spaces between them. */
const HEADER_VALUE = /^[!-~](?:[ !-~]*[!-~])?$/;
const VISIBLE_ASCII = /^[!-~]+$/;
const PRINTABLE_ASCII = /^[ -~]+$/;
/** Names with a space between them, without `"` and `\` (RFC 6749, 3.3). */
const SCOPE = /^[!#-[\]-~]+(?: [!#-[\]-~]+)*$/;
/** Anything but control characters. A user name has no colon (RFC 7617). */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const USERNAME = /^[^\u0000-\u001f\u007f:\p{Surrogate}]*$/u;
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const PASSWORD = /^[^\u0000-\u001f\u007f\p{Surrogate}]*$/u;

const MAX_USERNAME = 255;
const MAX_CREDENTIAL = 2_048;
const MAX_SCOPE = 1_024;
const MAX_CERTIFICATE = 16 * 1_024;
/** An RSA key of 4,096 bits takes 3.3 KiB. */
const MAX_PRIVATE_KEY = 4 * 1_024;

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function headerProblems(name: string, value: unknown, mayBeNull: boolean) {
  const pointer = memberPointer(name).slice(1);
  if (name.length > MAX_HEADER_NAME || !HEADER_NAME.test(name)) {
    return [problem('invalid_format', `must have a header name of at most ${MAX_HEADER_NAME} characters`, pointer)];
  }
  if (isReservedHeader(name))
    return [problem('not_allowed', 'is a header that Gapless or the connection sets', pointer)];
  if (value === null && mayBeNull) return [];
  if (typeof value !== 'string') return [problem('wrong_type', 'must be a string', pointer)];
  if (value.length <= MAX_HEADER_VALUE && HEADER_VALUE.test(value)) return [];
  const detail = `must be 1 to ${MAX_HEADER_VALUE} visible ASCII characters, with spaces only between them`;
  return [problem('invalid_format', detail, pointer)];
}

/** @param mayBeNull whether null removes a header */
function headersRule(mayBeNull: boolean): MemberRule {
  const value: JsonObject = { maxLength: MAX_HEADER_VALUE, pattern: HEADER_VALUE.source };
  return {
    schema: {
      type: 'object',
      maxProperties: MAX_CUSTOM_HEADERS,
      propertyNames: { maxLength: MAX_HEADER_NAME, pattern: HEADER_NAME.source },
      additionalProperties: { type: mayBeNull ? ['string', 'null'] : 'string', ...value },
    },
    check: (headers) => {
      if (!isObject(headers)) return [problem('wrong_type', 'must be an object of header names and values')];
      const names = Object.keys(headers);
      if (names.length > MAX_CUSTOM_HEADERS) {
        return [problem('out_of_range', `must have at most ${MAX_CUSTOM_HEADERS} headers`)];
      }
      const lower = names.map((name) => name.toLowerCase());
      return names.flatMap((name, index) =>
        lower.indexOf(name.toLowerCase()) === index
          ? headerProblems(name, headers[name], mayBeNull)
          : [problem('not_allowed', 'is there already', memberPointer(name).slice(1))],
      );
    },
  };
}

export const newHeaders = described(headersRule(false), {
  description:
    'Headers to send with each push, at most 20. Values are stored encrypted and never shown. Names that Gapless or the connection sets are refused.',
});

export const changedHeaders = described(headersRule(true), {
  description:
    'Headers to add or replace; null removes one. null in place of the object removes all. Headers that are not named stay.',
});

function aCredential(pattern: RegExp, maxLength: number, more: JsonObject = {}): MemberRule {
  return {
    schema: { type: 'string', maxLength, ...more },
    check: (value) => {
      if (typeof value !== 'string') return [problem('wrong_type', 'must be a string')];
      if (value.length <= maxLength && pattern.test(value)) return [];
      return [problem('invalid_format', `must be at most ${maxLength} characters of the allowed kind`)];
    },
  };
}

/** A credential of at least one character, whose pattern is documented. */
const someOf = (pattern: RegExp, maxLength: number) =>
  aCredential(pattern, maxLength, { minLength: 1, pattern: pattern.source });

const AUTH_KINDS: Readonly<Record<EndpointAuth['type'], Readonly<Record<string, MemberRule>>>> = {
  basic: {
    username: required(aCredential(USERNAME, MAX_USERNAME)),
    password: required(aCredential(PASSWORD, MAX_CREDENTIAL)),
  },
  bearer: { token: required(someOf(VISIBLE_ASCII, MAX_CREDENTIAL)) },
  oauth2: {
    token_url: required(tokenUrl),
    client_id: required(someOf(PRINTABLE_ASCII, MAX_USERNAME)),
    client_secret: required(someOf(PRINTABLE_ASCII, MAX_CREDENTIAL)),
    scope: absentOr(someOf(SCOPE, MAX_SCOPE)),
    audience: absentOr(someOf(PRINTABLE_ASCII, MAX_SCOPE)),
    client_auth: absentOr(described(oneOf(CLIENT_AUTHS), { description: '`basic` if it is missing.' })),
  },
};

const AUTH_RULES = AUTH_TYPES.map((type) => {
  const aType: MemberRule = { schema: { type: 'string', const: type }, check: () => [] };
  return { type, rule: anObjectOf({ type: required(aType), ...AUTH_KINDS[type] }) };
});

export const endpointAuth: MemberRule = {
  schema: {
    description:
      'Sends an Authorization header with each push. Stored encrypted and never shown; a user name has no colon. `oauth2` sends a token that is fetched from `token_url` by the client credentials grant.',
    oneOf: AUTH_RULES.map(({ rule }) => rule.schema),
  },
  check: (auth) => {
    if (!isObject(auth)) return [problem('wrong_type', 'must be an object')];
    const found = AUTH_RULES.find(({ type }) => type === auth['type']);
    return found?.rule.check(auth) ?? [problem('not_allowed', `must be one of ${AUTH_TYPES.join(', ')}`, '/type')];
  },
};

const pemPair = anObjectOf({
  certificate: required(described(aTextOf(MAX_CERTIFICATE), { description: 'PEM, with those of its chain after it.' })),
  private_key: required(described(aTextOf(MAX_PRIVATE_KEY), { description: 'PEM: RSA or EC, not encrypted.' })),
});

/** `EndpointUrlCheck` checks whether TLS can present it. */
export const clientCertificate = described(pemPair, {
  description:
    'Presented in the TLS handshake of pushes to this endpoint. Stored encrypted; the key is never shown. The url has to be https.',
});

export const legacySignature = described(aBoolean, {
  description: 'Whether `X-Webhook-Signature` is sent. Default true.',
});

const someSignatures = aSetOf(SIGNATURE_KINDS, { minItems: 1, of: 'kinds of signatures' });

export const signatureKinds = described(
  {
    schema: { ...someSignatures.schema, contains: { const: 'hmac' } },
    check: (kinds) => {
      const found = someSignatures.check(kinds);
      if (found.length > 0 || (kinds as readonly string[]).includes('hmac')) return found;
      return [problem('not_allowed', 'must hold hmac')];
    },
  },
  {
    description:
      'What signs pushes. hmac always does. ed25519 adds a `v1a` signature to `webhook-signature`, by the keys of `/.well-known/jwks.json`. Default [hmac].',
  },
);

export const retryAfterRespect = described(aBoolean, {
  description: 'Whether `Retry-After` of a 429 or 503 moves the next attempt later, by 6 hours at most. Default false.',
});

export const goneDisables = described(aBoolean, {
  description: 'Whether a 410 fails the delivery and disables the endpoint at once. Default false.',
});

export const ratePerSecond = described(anIntegerOf(1, 10_000), {
  description: 'The most attempts in any second. Default null: no limit.',
});

export const numberInFlight = described(anIntegerOf(1, 1_000), {
  description: 'The most attempts at the same time. Default null: no limit of its own.',
});

export const urgentTypes = described(eventTypes({}), {
  description:
    'The event types whose pushes pass others that wait for the endpoint. An order wins. Default null: the four alerting events. []: none.',
});

export const previousSequence = described(aBoolean, {
  description:
    'Whether pushes have `X-Service-Previous-Sequence`: the seq of the event before this one that was for the endpoint. Default false.',
});

const ordering = anObjectOf({
  by: required(oneOf(ORDERINGS)),
  batch: absentOr(described(anIntegerOf(1, MAX_BATCH), { default: 1 })),
});

export const eventOrdering = described(
  {
    schema: ordering.schema,
    check: (value) => {
      const found = ordering.check(value);
      if (found.length > 0) return found;
      const { by, batch = 1 } = value as { readonly by: OrderedBy; readonly batch?: number };
      return by !== 'none' || batch === 1 ? [] : [problem('not_allowed', 'must be 1 without an order', '/batch')];
    },
  },
  {
    description:
      'by: `endpoint` sends events strictly by seq, `subject` strictly by seq for each conversation, ticket or other subject. batch: the most events in a request; with more than 1, the body is `{"events": [envelope, …]}`. Default `{"by": "none", "batch": 1}`.',
  },
);
