import type { ErrorCode, JsonObject } from '#libs/domain';
import { PROBLEM_MEDIA_TYPE } from '../problems/problem.js';
import { INTERNAL_ERROR, PROBLEM_TYPES, type ProblemCode } from '../problems/problem-types.js';
import type { ApiKeyScope } from '#libs/postgres';
import { IDEMPOTENCY_KEY_PATTERN } from '../idempotency/idempotency-key.js';
import { MAYBE_TEXT, objectOf } from '../http/shapes.js';
import { ref } from './schemas.js';

/** The parts that differ between operations. */
export interface OperationSketch {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /**
   * The scope that the key needs. `session` reads the caller's dashboard session, `sign_in` creates it; `portal` reads
   * the caller's portal session. `page` needs either of them. `public` is for everyone, and is not counted.
   */
  readonly scope: ApiKeyScope | 'any' | 'session' | 'portal' | 'page' | 'sign_in' | 'public';
  /** A second scope that the key needs. */
  readonly alsoScope?: ApiKeyScope;
  /** Whether only service keys are accepted. */
  readonly isForServices?: boolean;
  readonly parameters?: readonly JsonObject[];
  readonly body?: { readonly schema: JsonObject; readonly example?: JsonObject; readonly isOptional?: boolean };
  /** Whether an `Idempotency-Key` is honoured. */
  readonly idempotent?: boolean;
  readonly success: {
    readonly status: 200 | 201 | 202 | 204;
    readonly description: string;
    readonly content?: JsonObject;
    readonly headers?: JsonObject;
  };
  /** The errors in addition to those of every operation. */
  readonly errors?: readonly ErrorCode[];
}

const EVERYWHERE: readonly ProblemCode[] = [INTERNAL_ERROR, 'unavailable'];
const WITH_LIMITS: readonly ErrorCode[] = ['invalid_api_key', 'validation_failed', 'rate_limited'];
const WITH_CALLER: readonly ErrorCode[] = ['missing_api_key'];
const WITH_SCOPE: readonly ErrorCode[] = ['insufficient_scope'];
/** The errors of an unsafe request with the dashboard's cookie. */
const BY_COOKIE: readonly ErrorCode[] = ['csrf_token_invalid'];
const WITH_PARAMETERS: readonly ErrorCode[] = ['malformed_request'];
/** Errors of every body, also for operations that have none. */
const REFUSED_BODY: readonly ErrorCode[] = ['payload_too_large', 'unsupported_media_type'];
const WITH_BODY: readonly ErrorCode[] = ['malformed_request'];
const WITH_KEY: readonly ErrorCode[] = ['malformed_request', 'idempotency_conflict'];

const IDEMPOTENCY_KEY: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'For 24 hours, a request with the same key and body takes effect once, and gets the same response.',
  schema: { type: 'string', maxLength: 255, pattern: IDEMPOTENCY_KEY_PATTERN.source },
};

/** Headers of every answer. */
const HEADERS: JsonObject = { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } };

/** Headers of every answer to an authenticated request. */
const LIMIT_HEADERS: JsonObject = {
  RateLimit: { $ref: '#/components/headers/RateLimit' },
  'RateLimit-Policy': { $ref: '#/components/headers/RateLimit-Policy' },
};

/** JSON of the form `{data: …}`. */
export const dataOf = (schema: JsonObject): JsonObject => ({
  'application/json': { schema: objectOf({ data: schema }) },
});

export const listOf = (name: string): JsonObject => ({ type: 'array', items: ref(name) });

/** JSON of a page of a list, and the cursor of the next one. */
export const pageOf = (name: string): JsonObject => ({
  'application/json': { schema: objectOf({ data: listOf(name), next_cursor: MAYBE_TEXT }) },
});

/** Returns the complete operation of the document. */
export function operation(method: 'get' | 'post' | 'put' | 'patch' | 'delete', sketch: OperationSketch): JsonObject {
  const isForServices = sketch.isForServices === true;
  const isPublic = sketch.scope === 'public';
  const codes = new Set<ProblemCode>([
    ...(isPublic ? [] : WITH_LIMITS),
    ...EVERYWHERE,
    ...(isPublic || sketch.scope === 'sign_in' ? [] : WITH_CALLER),
    ...(['any', 'session', 'portal', 'page', 'public'].includes(sketch.scope) ? [] : WITH_SCOPE),
    ...(method === 'get' || sketch.scope === 'sign_in' || isForServices ? [] : BY_COOKIE),
    ...(sketch.parameters === undefined ? [] : WITH_PARAMETERS),
    ...(method === 'get' ? [] : REFUSED_BODY),
    ...(sketch.body === undefined ? [] : WITH_BODY),
    ...(sketch.idempotent === true ? WITH_KEY : []),
    ...(sketch.errors ?? []),
  ]);
  const parameters = [...(sketch.parameters ?? []), ...(sketch.idempotent === true ? [IDEMPOTENCY_KEY] : [])];
  const { status, description, content, headers } = sketch.success;
  return {
    operationId: sketch.id,
    tags: [sketch.tag],
    summary: sketch.summary,
    description: [
      ...(sketch.description === undefined ? [] : [sketch.description]),
      ...requirementText(sketch, isForServices),
    ].join('\n\n'),
    security: isForServices ? [{ apiKey: [] }] : securityOf(method, sketch.scope),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(sketch.body === undefined
      ? {}
      : {
          requestBody: {
            required: sketch.body.isOptional !== true,
            content: {
              'application/json': {
                schema: sketch.body.schema,
                ...(sketch.body.example === undefined ? {} : { example: sketch.body.example }),
              },
            },
          },
        }),
    responses: {
      [status]: {
        description,
        headers: { ...HEADERS, ...(isPublic ? {} : LIMIT_HEADERS), ...headers },
        ...(content === undefined ? {} : { content }),
      },
      ...problemResponses([...codes]),
    },
  };
}

function requirementText({ scope, alsoScope }: OperationSketch, isForServices: boolean): readonly string[] {
  if (scope === 'public') return ['It needs no key.'];
  if (scope === 'session' || scope === 'portal' || scope === 'page' || scope === 'sign_in') return [];
  if (alsoScope !== undefined) return [`Scopes: \`${scope}\` and \`${alsoScope}\`.`];
  return [scope === 'any' ? 'Any valid key.' : `Scope: \`${scope}\`${isForServices ? ', of a service key' : ''}.`];
}

/**
 * Returns the ways to authenticate: by key, by the dashboard's cookie or by the portal's token. With the cookie, unsafe
 * methods also need the CSRF token.
 */
function securityOf(method: string, scope: OperationSketch['scope']): readonly JsonObject[] {
  if (scope === 'sign_in' || scope === 'public') return [];
  const session = method === 'get' ? { session: [] } : { session: [], csrfToken: [] };
  if (scope === 'portal') return [{ portal: [] }];
  if (scope === 'page') return [session, { portal: [] }];
  return scope === 'session' ? [session] : [{ apiKey: [] }, session, { portal: [] }];
}

/** Returns one response for each status, which names its error codes. */
function problemResponses(codes: readonly ProblemCode[]): JsonObject {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of codes) {
    const { status } = PROBLEM_TYPES[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const statuses = [...byStatus].sort(([a], [b]) => a - b);
  return Object.fromEntries(
    statuses.map(([status, ofStatus]) => [
      status,
      {
        description: ofStatus.map((code) => `\`${code}\`: ${PROBLEM_TYPES[code].title}.`).join('\n\n'),
        content: { [PROBLEM_MEDIA_TYPE]: { schema: ref('Problem') } },
        ...(status === 429 || status === 503
          ? { headers: { 'Retry-After': { $ref: '#/components/headers/Retry-After' } } }
          : {}),
      },
    ]),
  );
}
